"""The features of a premise and a hypothesis, as numbers for the re-ranker.

Sides, grades, stages, markers, diagnoses, findings, sites and sizes are read from both; a feature
is whether something of the hypothesis is in the premise, is opposed by it, or is new. A pair
without terms of pathology has no features, and is left to the network.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from histoeval.nli.features.counts import of_counts
from histoeval.nli.features.cues import of_contrasts, of_cues, of_scenes
from histoeval.nli.features.diagnoses import of_diagnoses, of_findings
from histoeval.nli.features.grades import of_grades
from histoeval.nli.features.laterality import of_sides
from histoeval.nli.features.parse import Statements, statements, statements_of_nothing
from histoeval.nli.features.sites import of_places
from histoeval.nli.features.stages import of_stages
from histoeval.nli.features.values import of_markers, of_sizes

_SAME = (
    "size_same count_same marker_same grade_same grade_worked_same stage_same stage_worked_same"
).split()
_OTHER = (
    "size_other count_other marker_opposite grade_other grade_worked_other stage_other "
    "stage_worked_other"
).split()
_NEW = "size_open marker_new stage_axis grade_worked_open stage_worked_open".split()
_OPPOSED = [
    *_OTHER,
    *(
        "side_opposite side_elsewhere grade_component diagnosis_flip finding_opposite nodes_other "
        "contrast"
    ).split(),
]
# Other parts, other ways, other times of examination: one says nothing about the other
_ELSEWHERE = (
    "label_other scene_frozen scene_earlier scene_sample scene_imaging scene_depth side_heading "
    "side_another size_apart"
).split()
_NOT_PLAIN = (
    "denied_one denied_other doubt_one past_one past_other beside_other site_moved site_beside "
    "site_finer site_new side_new grade_new size_new"
).split()


@cache
def feature_names() -> tuple[str, ...]:
    """The names of all features, in their order."""
    nothing = statements_of_nothing()
    return tuple(_features(nothing, nothing))


def extract_features(premise: str, hypothesis: str) -> dict[str, float] | None:
    """The features of a pair, by name; None where neither text is about pathology."""
    one, other = statements(premise), statements(hypothesis)
    return _features(one, other) if one.is_pathology or other.is_pathology else None


def _features(one: Statements, other: Statements) -> dict[str, float]:
    seen = {
        **of_sides(one, other),
        **of_grades(one, other),
        **of_stages(one, other),
        **of_markers(one, other),
        **of_diagnoses(one, other),
        **of_findings(one, other),
        **of_places(one, other),
        **of_sizes(one, other),
        **of_counts(one, other),
        **of_contrasts(one, other),
        **of_cues(one, other),
        **of_scenes(one, other),
    }
    values = {name: float(value) for name, value in seen.items()}
    return values | _sure(values, one, other)


def opposes(features: Mapping[str, float]) -> bool:
    """Whether the features of a pair have something of one text opposed to the other."""
    return any(features[name] for name in _OPPOSED)


def _sure(seen: dict[str, float], one: Statements, other: Statements) -> dict[str, float]:
    """What leaves little doubt: one thing is in both texts, and nothing else is against it."""

    def any_of(names: Iterable[str]) -> bool:
        return any(seen[name] for name in names)

    against, same, apart = any_of(_OPPOSED), any_of(_SAME), any_of(_ELSEWHERE)
    certain = not seen["doubt_one"] and not apart
    plain = not any_of(_NOT_PLAIN)
    named = (seen["bare_same"] and one.bare) or seen["bare_kind"]
    named = named and seen["bare_all"] and plain and not one.labels
    named = named and (seen["site_whole"] or not other.sites)
    finer = seen["bare_parent"] and one.bare and plain
    part = seen["grade_component"] and not seen["side_opposite"]
    opened = any_of(_NEW) or finer
    return {
        "sure_same": float(
            bool(seen["only_side_free"]) or (bool(same or named) and not against and certain)
        ),
        "sure_other": float(
            any_of(("only_side_held", "both_sides_free"))
            or (any_of(_OTHER) and not same and certain)
        ),
        "sure_open": float(bool(part) or (bool(opened) and not against and not same)),
        "sure_apart": float(apart),
        "sure_home": float(bool(seen["spread_home"]) and bool(seen["site_moved_spread"])),
    }
