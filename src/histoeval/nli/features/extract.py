"""The features of a premise and a hypothesis, as numbers for the re-ranker.

Sides, grades, stages, markers, diagnoses, findings, sites and sizes are read from both; a feature
is whether something of the hypothesis is in the premise, is opposed by it, or is new. A pair
without terms of pathology has no features, and is left to the network.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import product

from histoeval.nli.features.parse import NOTHING, Statements, scenes, statements
from histoeval.nli.features.values import of_counts, of_grades, of_stages
from histoeval.terms.catalogue import HARMLESS, Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.findings import is_kind_of
from histoeval.terms.sites import contains, site_tree, system_of
from histoeval.terms.values import marker_results as results
from histoeval.terms.values.laterality import Side
from histoeval.terms.values.quantities import Fits, compared

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
    return tuple(_features(NOTHING, NOTHING))


def extract_features(premise: str, hypothesis: str) -> dict[str, float] | None:
    given, claimed = statements(premise), statements(hypothesis)
    return _features(given, claimed) if given.is_pathology or claimed.is_pathology else None


def _features(given: Statements, claimed: Statements) -> dict[str, float]:
    seen = {
        **of_sides(given, claimed),
        **of_grades(given, claimed),
        **of_stages(given, claimed),
        **of_markers(given, claimed),
        **of_diagnoses(given, claimed),
        **of_findings(given, claimed),
        **of_places(given, claimed),
        **of_sizes(given, claimed),
        **of_counts(given, claimed),
        **of_contrasts(given, claimed),
        **of_cues(given, claimed),
        **of_scenes(given, claimed),
    }
    values = {name: float(value) for name, value in seen.items()}
    return values | _sure(values, given, claimed)


def opposes(features: Mapping[str, float]) -> bool:
    """True if the features of a pair have something of one text opposed to the other."""
    return any(features[name] for name in _OPPOSED)


def _sure(seen: dict[str, float], given: Statements, claimed: Statements) -> dict[str, float]:
    """Features that leave little doubt: one thing in both texts, and nothing else against it."""

    def any_of(names: Iterable[str]) -> bool:
        return any(seen[name] for name in names)

    against, same, apart = any_of(_OPPOSED), any_of(_SAME), any_of(_ELSEWHERE)
    certain = not seen["doubt_one"] and not apart
    plain = not any_of(_NOT_PLAIN)
    is_named = (seen["bare_same"] and given.bare) or seen["bare_kind"]
    is_named = is_named and seen["bare_all"] and plain and not given.labels
    is_named = is_named and (seen["site_whole"] or not claimed.sites)
    finer = seen["bare_parent"] and given.bare and plain
    part = seen["grade_component"] and not seen["side_opposite"]
    opened = any_of(_NEW) or finer
    return {
        "sure_same": float(
            bool(seen["only_side_free"]) or (bool(same or is_named) and not against and certain)
        ),
        "sure_other": float(
            any_of(("only_side_held", "both_sides_free"))
            or (any_of(_OTHER) and not same and certain)
        ),
        "sure_open": float(bool(part) or (bool(opened) and not against and not same)),
        "sure_apart": float(apart),
        "sure_home": float(bool(seen["spread_home"]) and bool(seen["site_moved_spread"])),
    }


_REGIONS = frozenset({"body_region", "body_cavity"})


def of_places(one: Statements, other: Statements) -> dict[str, float]:
    tree = site_tree()
    known, sites = one.sites, other.sites
    wholes = {b for b in sites if any(tree.is_a(a, b) for a in known)}
    finer = {b for b in sites - wholes if any(tree.is_a(b, a) for a in known)}
    apart = {b for b in sites - wholes - finer if _has_rivals(b, known)}
    spread = one.has("spread") or other.has("spread")
    moved = bool(apart) and other.has("home")
    return {
        "site_whole": bool(wholes) and not finer and not apart,
        "site_finer": bool(finer) and not apart,
        "site_moved": moved and not spread,
        "site_moved_spread": moved and spread,
        "site_beside": bool(apart) and not moved,
        "site_new": bool(sites) and not known,
        "spread_home": one.has("spread") and other.has("home"),
        "label_new": bool(other.labels - one.labels),
        "label_same": bool(other.labels & one.labels),
        "place_new": bool(other.places - one.places),
        "place_same": bool(other.places & one.places),
    }


def _has_rivals(site: str, sites_named: frozenset[str]) -> bool:
    """True if any known site is of the same level, region or organ: an arm contains bones."""
    loose = system_of(site) in _REGIONS
    return any((system_of(id_) in _REGIONS) == loose for id_ in sites_named)


def is_apart(one: Statements, other: Statements) -> bool:
    """True if all sites of the hypothesis lie elsewhere than those of the premise, or its parts."""
    tree = site_tree()
    elsewhere = [
        b
        for b in other.sites
        if _has_rivals(b, one.sites)
        and not any(tree.is_a(a, b) or tree.is_a(b, a) for a in one.sites)
    ]
    return bool(elsewhere) and len(elsewhere) == len(other.sites)


_RESULTS_SAME, _RESULTS_OTHER = 0.75, 0.1
_REPAIR = frozenset(
    {"mismatch repair", "microsatellite instability", "MLH1", "PMS2", "MSH2", "MSH6"}
)


def of_markers(one: Statements, other: Statements) -> dict[str, float]:
    results_of: dict[str, list[results.Result | None]] = {}
    for marker, result in one.markers:
        results_of.setdefault(marker, []).append(result)
    same = opposite = new = 0
    for marker, result in other.markers:
        if marker not in results_of:
            new |= not (marker in _REPAIR and results_of.keys() & _REPAIR)
            continue
        near = [results.agreement(a, result) for a in results_of[marker] if a and result]
        same |= bool(near) and max(near) >= _RESULTS_SAME
        opposite |= bool(near) and max(near) < _RESULTS_OTHER
    return {"marker_same": same, "marker_opposite": opposite, "marker_new": new}


def of_sizes(one: Statements, other: Statements) -> dict[str, float]:
    """The quantities of the hypothesis beside those of the premise.

    What is measured at a site that the premise does not have is another thing.
    """
    fits = compared(one.quantities, other.quantities)
    apart = is_apart(one, other)
    opposed = Fits.OTHER in fits and Fits.SAME not in fits
    return {
        "size_same": Fits.SAME in fits and Fits.OTHER not in fits and not apart,
        "size_some": Fits.SAME in fits and Fits.OTHER in fits,
        "size_other": opposed and not apart,
        "size_apart": opposed and apart,
        "size_open": fits == {Fits.OPEN} and bool(one.quantities),
        "size_new": fits == {Fits.OPEN} and not one.quantities,
    }


def of_contrasts(one: Statements, other: Statements) -> dict[str, float]:
    both = [(a, b) for a, b in zip(one.contrasts, other.contrasts, strict=True) if a and b]
    opposed = sum(not a & b for a, b in both)
    shared = sum(bool(a & b) for a, b in both)
    flipped = one.has("denied") != other.has("denied")
    return {
        "contrast": min(2, opposed) * (not flipped),
        "contrast_denied": min(2, opposed) * flipped,
        "shared": min(2, shared) * (not flipped),
        "shared_denied": min(2, shared) * flipped,
    }


def of_cues(one: Statements, other: Statements) -> dict[str, float]:
    cues = "denied bad whole doubt past beside only most least insitu invasive".split()
    premise, hypothesis = ({cue: text.has(cue) for cue in cues} for text in (one, other))
    denied = premise["denied"], hypothesis["denied"]
    fresh = other.words - one.words
    return {
        "denied_one": denied == (True, False),
        "denied_other": denied == (False, True),
        "denied_two": all(denied),
        "doubt_one": premise["doubt"],
        "doubt_other": hypothesis["doubt"],
        "past_one": premise["past"],
        "past_other": hypothesis["past"],
        "beside_other": hypothesis["beside"],
        "only_one": premise["only"],
        "only_other": hypothesis["only"],
        "bad_whole": premise["bad"] and hypothesis["whole"] and not premise["whole"],
        "whole_bad": premise["whole"] and hypothesis["bad"] and not premise["bad"],
        "bad_new": hypothesis["bad"] and not premise["bad"],
        "most_least": premise["most"] and hypothesis["least"],
        "least_most": premise["least"] and hypothesis["most"],
        "insitu_invasive": premise["insitu"] and _invades(hypothesis),
        "invasive_insitu": hypothesis["insitu"] and _invades(premise),
        "fresh": len(fresh) / max(1, len(other.words)),
        "all_fresh": fresh == other.words,
        "none_fresh": not fresh,
    }


def _invades(cues: Mapping[str, bool]) -> bool:
    return cues["invasive"] and not cues["insitu"] and not cues["denied"]


def of_scenes(one: Statements, other: Statements) -> dict[str, float]:
    """Examinations of both texts: the same, or a biopsy and the resection."""
    features = {}
    for name, first, second in scenes():
        premise = bool(first.search(one.text)), bool(second.search(one.text))
        hypothesis = bool(first.search(other.text)), bool(second.search(other.text))
        apart = {premise, hypothesis} == {(True, False), (False, True)}
        features[f"scene_{name}"] = float(apart)
    if one.has("denied"):
        features["scene_component"] = 0.0
    kinds = [{label.split()[0] for label in text.labels} for text in (one, other)]
    return features | {
        "label_other": bool(kinds[0] & kinds[1]) and not one.labels & other.labels,
        "known_thing": other.has_word("forms", "definite"),
        "heading": other.has_word("forms", "heading"),
        "sole_one": one.has_word("forms", "sole"),
        "another": other.has_word("forms", "another"),
    }


def _kin(a: Concept, b: Concept) -> str:
    tree = diagnosis_tree()
    if a.id == b.id:
        return "same"
    if tree.is_a(a.id, b.id):
        return "kind"
    if tree.is_a(b.id, a.id):
        return "parent"
    return "other"


def of_diagnoses(one: Statements, other: Statements) -> dict[str, float]:
    names = ("same", "kind", "parent", "other", "flip", "denied_both", "bad_good", "good_bad")
    out = dict.fromkeys(names, 0.0)
    for (a, a_denied), (b, b_denied) in product(one.diagnoses, other.diagnoses):
        first, second = concepts()[a], concepts()[b]
        kin = _kin(first, second)
        if kin == "same" and first.behaviour is Behaviour.UNSPECIFIED:
            continue
        if a_denied or b_denied:
            if a_denied and b_denied:
                out["denied_both"] = max(out["denied_both"], kin in ("same", "parent"))
            elif (b_denied and kin in ("same", "kind")) or (a_denied and kin in ("same", "parent")):
                out["flip"] = 1.0
            continue
        out[kin] = 1.0
        for name, bad, good in (("bad_good", first, second), ("good_bad", second, first)):
            opposed = bad.behaviour is Behaviour.MALIGNANT and good.behaviour in HARMLESS
            out[name] = max(out[name], opposed)
    related = out["same"] or out["kind"]
    out["other"] = float(out["other"] and not related and not out["parent"])
    new = bool(other.diagnoses) and not one.diagnoses
    features = {f"diagnosis_{name}": value for name, value in out.items()}
    sure = other.bare and not one.has("doubt")
    bare = {f"bare_{name}": sure and out[name] for name in ("same", "kind", "parent", "other")}
    within = all(
        any(_kin(concepts()[a], concepts()[b]) in ("same", "kind") for a, _ in one.diagnoses)
        for b, _ in other.diagnoses
    )
    bare |= {"bare_new": other.bare and new, "bare_all": sure and within and not new}
    return features | bare | {"diagnosis_new": float(new)}


def of_findings(one: Statements, other: Statements) -> dict[str, float]:
    same = opposite = new = 0
    for b, b_denied in other.findings:
        met = [
            a_denied
            for a, a_denied in one.findings
            if (is_kind_of(b, a) if a_denied else is_kind_of(a, b))
        ]
        same |= b_denied in met
        opposite |= bool(met) and b_denied not in met
        new |= not met
    return {"finding_same": same, "finding_opposite": opposite, "finding_new": new}


_OPPOSITE = {Side.LEFT: Side.RIGHT, Side.RIGHT: Side.LEFT, Side.BILATERAL: Side.BILATERAL}
Sides = frozenset[tuple[Side, str | None]]


def of_sides(one: Statements, other: Statements) -> dict[str, float]:
    sides = _known(one)
    claimed = _claimed(other, sides)
    known_sides = {side for side, _ in sides}
    is_both = Side.BILATERAL in known_sides or {Side.LEFT, Side.RIGHT} <= known_sides
    same = opposite = new = unlike = two = False
    for side, organ in claimed:
        rivals = {s for s, o in sides if o is None or organ is None or contains(o, organ)}
        both = {Side.LEFT, Side.RIGHT} <= rivals
        two |= both
        same |= not both and (side in rivals or Side.BILATERAL in rivals)
        opposite |= bool(rivals) and side not in rivals and Side.BILATERAL not in rivals
        new |= not sides
        unlike |= bool(sides) and not rivals
    return {
        "side_same": same,
        "side_new": new,
        "side_unlike": unlike,
        "side_two": two,
        "side_both": is_both and Side.BILATERAL in {side for side, _ in claimed},
        "side_unsided": bool(claimed) and one.has_word("sides", "unsided"),
        **_opposed(one, other, sides, opposite=opposite),
    }


def _opposed(
    given: Statements, claimed: Statements, sides: Sides, *, opposite: bool
) -> dict[str, float]:
    """The other side: of the known lesion, or of a part that the premise does not have."""
    shared = {id_ for id_, _ in given.diagnoses} & {id_ for id_, _ in claimed.diagnoses}
    of_lesion = bool(shared) or claimed.has("lesion")
    only, free = given.has("confined"), claimed.has("denied")
    heading = claimed.has_word("forms", "heading")
    definite = claimed.has_word("forms", "definite") and not heading
    return {
        "side_opposite": opposite and of_lesion,
        "side_elsewhere": opposite and not of_lesion,
        "side_known": opposite and definite and of_lesion,
        "side_heading": opposite and heading,
        "side_sole": opposite
        and not free
        and (given.has_word("forms", "sole") or claimed.has_word("forms", "sole")),
        "side_another": opposite and claimed.has_word("forms", "another"),
        "only_side_free": opposite and only and free,
        "only_side_held": opposite and only and not free,
        "both_sides_free": {side for side, _ in sides} == {Side.BILATERAL}
        and bool(claimed.sides)
        and free,
    }


def _known(text: Statements) -> Sides:
    """Sides that are named, else those that are implied: a caecum is on the right."""
    if text.has_word("sides", "other") and len(text.sides) == 1:
        (side, organ) = next(iter(text.sides))
        return text.sides | {(_OPPOSITE[side], organ)}
    return text.sides or _implied(text)


def _claimed(other: Statements, known: Sides) -> Sides:
    """The sides of a hypothesis, which may call them the same side or the other side."""
    sides = {side for side, _ in known}
    if not other.sides and len(sides) == 1:
        side = sides.pop()
        if other.has_word("sides", "other"):
            return frozenset({(_OPPOSITE[side], None)})
        if other.has_word("sides", "same"):
            return frozenset({(side, None)})
    if not other.sides and known and other.has_word("sides", "both"):
        return frozenset({(Side.BILATERAL, None)})
    return other.sides or (_implied(other) if known else frozenset())


def _implied(text: Statements) -> Sides:
    return frozenset(
        (side, None) for side in (Side.LEFT, Side.RIGHT) if text.has_word("sides", side.value)
    )
