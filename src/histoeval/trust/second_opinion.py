"""What the terms of a premise and a hypothesis say of each other, as numbers beside a network's.

Sides, grades, stages, markers, diagnoses, findings, sites and sizes are read from both; each
number says whether something of the hypothesis is said by the premise, is opposed by it, or is new.
What nothing of pathology is found in has no such numbers, and is left to the network.
"""

from __future__ import annotations

from functools import cache

from histoeval.trust.pair_counts import of_counts
from histoeval.trust.pair_diagnoses import of_diagnoses, of_findings
from histoeval.trust.pair_grades import of_grades
from histoeval.trust.pair_markers import of_markers
from histoeval.trust.pair_places import of_places
from histoeval.trust.pair_sides import of_sides
from histoeval.trust.pair_sizes import of_sizes
from histoeval.trust.pair_stages import of_stages
from histoeval.trust.pair_statements import Statements, statements
from histoeval.trust.pair_words import of_contrasts, of_cues, of_scenes

_OPPOSED = (
    "side_opposite",
    "side_elsewhere",
    "grade_other",
    "grade_component",
    "stage_other",
    "marker_opposite",
    "diagnosis_flip",
    "finding_opposite",
    "size_other",
    "nodes_other",
    "contrast",
)
_NOT_PLAIN = (
    "denied_one",
    "denied_other",
    "doubt_one",
    "past_one",
    "past_other",
    "beside_other",
    "site_moved",
    "site_beside",
    "site_finer",
    "site_new",
    "side_new",
    "grade_new",
    "size_new",
)


@cache
def names() -> tuple[str, ...]:
    """What all numbers are called, in their order."""
    return tuple(observed("tumour", "tumour") or ())


def observed(premise: str, hypothesis: str) -> dict[str, float] | None:
    """What terms say of a pair, by name; nothing where neither text is of pathology."""
    one, other = statements(premise), statements(hypothesis)
    if not (one.is_pathology or other.is_pathology):
        return None
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
    told = {name: float(value) for name, value in seen.items()}
    return told | _sure(told, one, other)


def _sure(told: dict[str, float], one: Statements, other: Statements) -> dict[str, float]:
    """What leaves little to say: one thing is told and asked, and nothing else speaks of it."""
    against = any(told[name] for name in _OPPOSED)
    plain = not any(told[name] for name in _NOT_PLAIN)
    same = told["size_same"] or told["marker_same"] or told["grade_same"] or told["stage_same"]
    named = (told["bare_same"] and one.bare) or told["bare_kind"]
    named = named and told["bare_all"] and plain and not one.labels
    named = named and (told["site_whole"] or not other.sites)
    finer = told["bare_parent"] and one.bare and plain
    opposite = told["size_other"] or told["marker_opposite"] or told["stage_other"]
    opposite = opposite or told["grade_other"]
    new = told["size_open"] or told["marker_new"] or told["stage_axis"]
    part = told["grade_component"] and not told["side_opposite"]
    return {
        "sure_same": float(
            bool(told["only_side_free"])
            or (bool(same or named) and not against and not told["doubt_one"])
        ),
        "sure_other": float(
            bool(told["only_side_held"] or told["both_sides_free"])
            or (bool(opposite) and not same and not told["doubt_one"])
        ),
        "sure_open": float(bool(part) or (bool(new or finer) and not against and not same)),
        "sure_home": float(bool(told["spread_home"]) and bool(told["site_moved_spread"])),
    }
