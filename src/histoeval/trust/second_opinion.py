"""What the terms of a premise and a hypothesis say of each other, as numbers beside a network's.

Sides, grades, stages, markers, diagnoses, findings, sites and sizes are read from both; each
number says whether something of the hypothesis is said by the premise, is opposed by it, or is new.
What nothing of pathology is found in has no such numbers, and is left to the network.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import product

from histoeval.terms import grades, results, stages
from histoeval.terms.catalogue import Behaviour, Concept, concepts, diagnosis_tree
from histoeval.terms.findings import findings as all_findings
from histoeval.terms.laterality import Side
from histoeval.terms.sites import contains, site_tree, system_of
from histoeval.trust.pair_statements import Statements, has_cue, statements
from histoeval.trust.quantities import Fits, compared

_BAD = frozenset({Behaviour.MALIGNANT})
_REGIONS = frozenset({"body_region", "body_cavity"})
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
_RESULTS_SAME, _RESULTS_OTHER = 0.75, 0.1
_REPAIR = frozenset(
    {"mismatch repair", "microsatellite instability", "MLH1", "PMS2", "MSH2", "MSH6"}
)
_GRADES_SAME, _GRADES_OTHER = 0.85, 0.8
_GOOD = frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL})


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
        **_of_sides(one, other),
        **_of_grades(one, other),
        **_of_stages(one, other),
        **_of_markers(one, other),
        **_of_diagnoses(one, other),
        **_of_findings(one, other),
        **_of_places(one, other),
        **_of_sizes(one, other),
        **_of_contrasts(one, other),
        **_of_cues(one, other),
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


def _of_sides(one: Statements, other: Statements) -> dict[str, float]:
    same = opposite = new = unlike = two = False
    for side, organ in other.sides:
        rivals = {s for s, o in one.sides if o is None or organ is None or contains(o, organ)}
        both = {Side.LEFT, Side.RIGHT} <= rivals
        two |= both
        same |= not both and (side in rivals or Side.BILATERAL in rivals)
        opposite |= bool(rivals) and side not in rivals and Side.BILATERAL not in rivals
        new |= not one.sides
        unlike |= bool(one.sides) and not rivals
    shared = {id_ for id_, _ in one.diagnoses} & {id_ for id_, _ in other.diagnoses}
    of_lesion = bool(shared) or has_cue("lesion", other.text)
    only, free = has_cue("confined", one.text), has_cue("denied", other.text)
    bilateral = Side.BILATERAL in {side for side, _ in one.sides}
    return {
        "side_same": same,
        "side_opposite": opposite and of_lesion,
        "side_elsewhere": opposite and not of_lesion,
        "side_new": new,
        "side_unlike": unlike,
        "side_two": two,
        "only_side_free": opposite and only and free,
        "only_side_held": opposite and only and not free,
        "both_sides_free": bilateral and bool(other.sides) and free,
    }


def _of_grades(one: Statements, other: Statements) -> dict[str, float]:
    same = different = False
    for (a, a_denied), (b, b_denied) in product(one.grades, other.grades):
        if None not in (a.about, b.about) and a.about != b.about:
            continue
        near = grades.agreement(a, b)
        if a.level == b.level and {"grade", "nuclear", "tier"} & {a.scheme, b.scheme}:
            near = 1.0
        flipped = a_denied != b_denied
        same |= near >= _GRADES_SAME and not flipped
        different |= near >= _GRADES_SAME and flipped
        different |= near < _GRADES_OTHER and not flipped
    apart = bool(other.components - one.components)
    return {
        "grade_same": same and not different,
        "grade_other": different and not same and not apart,
        "grade_component": different and not same and apart,
        "grade_two": different and same,
        "grade_new": bool(other.grades) and not one.grades,
    }


def _of_stages(one: Statements, other: Statements) -> dict[str, float]:
    shared = [
        stages.agreement(a, b)
        for a, b in product(one.stages, other.stages)
        if any(
            getattr(a, axis) is not None and getattr(b, axis) is not None
            for axis in ("t", "n", "m", "group")
        )
    ]
    return {
        "stage_same": bool(shared) and max(shared) > 0.85,
        "stage_other": bool(shared) and max(shared) < 0.8,
        "stage_new": bool(other.stages) and not shared,
        "stage_axis": bool(other.stages) and bool(one.stages) and not shared,
        "nodes_same": None not in (one.nodes, other.nodes) and one.nodes == other.nodes,
        "nodes_other": None not in (one.nodes, other.nodes) and one.nodes != other.nodes,
        "nodes_new": other.nodes is not None and one.nodes is None,
    }


def _of_markers(one: Statements, other: Statements) -> dict[str, float]:
    known: dict[str, list[results.Result | None]] = {}
    for marker, result in one.markers:
        known.setdefault(marker, []).append(result)
    same = opposite = new = 0
    for marker, result in other.markers:
        if marker not in known:
            new |= not (marker in _REPAIR and known.keys() & _REPAIR)
            continue
        near = [results.agreement(a, result) for a in known[marker] if a and result]
        same |= bool(near) and max(near) >= _RESULTS_SAME
        opposite |= bool(near) and max(near) < _RESULTS_OTHER
    return {"marker_same": same, "marker_opposite": opposite, "marker_new": new}


def _kin(a: Concept, b: Concept) -> str:
    """What a diagnosis of the premise is to one of the hypothesis."""
    tree = diagnosis_tree()
    if a.id == b.id:
        return "same"
    if tree.is_a(a.id, b.id):
        return "kind"
    if tree.is_a(b.id, a.id):
        return "parent"
    return "other"


def _of_diagnoses(one: Statements, other: Statements) -> dict[str, float]:
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
        out["bad_good"] = max(
            out["bad_good"], first.behaviour in _BAD and second.behaviour in _GOOD
        )
        out["good_bad"] = max(
            out["good_bad"], first.behaviour in _GOOD and second.behaviour in _BAD
        )
    related = out["same"] or out["kind"]
    out["other"] = float(out["other"] and not related and not out["parent"])
    new = bool(other.diagnoses) and not one.diagnoses
    told = {f"diagnosis_{name}": value for name, value in out.items()}
    sure = other.bare and not has_cue("doubt", one.text)
    bare = {f"bare_{name}": sure and out[name] for name in ("same", "kind", "parent", "other")}
    within = all(
        any(_kin(concepts()[a], concepts()[b]) in ("same", "kind") for a, _ in one.diagnoses)
        for b, _ in other.diagnoses
    )
    bare |= {"bare_new": other.bare and new, "bare_all": sure and within and not new}
    return told | bare | {"diagnosis_new": float(new)}


@lru_cache(maxsize=1 << 12)
def _above(id_: str) -> frozenset[str]:
    """A finding and what it is a kind of."""
    line, rows = {id_}, all_findings()
    while (parent := rows[id_].parent) and parent not in line:
        line.add(parent)
        id_ = parent
    return frozenset(line)


def _of_findings(one: Statements, other: Statements) -> dict[str, float]:
    same = opposite = new = 0
    for b, b_denied in other.findings:
        met = [
            a_denied
            for a, a_denied in one.findings
            if (b in _above(a) and not a_denied) or (a in _above(b) and a_denied) or a == b
        ]
        same |= b_denied in met
        opposite |= bool(met) and b_denied not in met
        new |= not met
    return {"finding_same": same, "finding_opposite": opposite, "finding_new": new}


def _of_places(one: Statements, other: Statements) -> dict[str, float]:
    tree = site_tree()
    told, asked = one.sites, other.sites
    wholes = {b for b in asked if any(tree.is_a(a, b) for a in told)}
    finer = {b for b in asked - wholes if any(tree.is_a(b, a) for a in told)}
    apart = {b for b in asked - wholes - finer if _is_apart(b, told)}
    spread = has_cue("spread", one.text) or has_cue("spread", other.text)
    moved = bool(apart) and has_cue("home", other.text)
    return {
        "site_whole": bool(wholes) and not finer and not apart,
        "site_finer": bool(finer) and not apart,
        "site_moved": moved and not spread,
        "site_moved_spread": moved and spread,
        "site_beside": bool(apart) and not moved,
        "site_new": bool(asked) and not told,
        "spread_home": has_cue("spread", one.text) and has_cue("home", other.text),
        "label_new": bool(other.labels - one.labels),
        "label_same": bool(other.labels & one.labels),
        "place_new": bool(other.places - one.places),
        "place_same": bool(other.places & one.places),
    }


def _is_apart(site: str, told: frozenset[str]) -> bool:
    """Whether a site is none of those told, and of the body as they are: an arm holds bones."""
    loose = system_of(site) in _REGIONS
    rivals = [each for each in told if (system_of(each) in _REGIONS) == loose]
    return bool(rivals)


def _of_sizes(one: Statements, other: Statements) -> dict[str, float]:
    found = compared(one.quantities, other.quantities)
    return {
        "size_same": Fits.SAME in found,
        "size_other": Fits.OTHER in found and Fits.SAME not in found,
        "size_open": found == {Fits.OPEN} and bool(one.quantities),
        "size_new": found == {Fits.OPEN} and not one.quantities,
    }


def _of_contrasts(one: Statements, other: Statements) -> dict[str, float]:
    both = [(a, b) for a, b in zip(one.members, other.members, strict=True) if a and b]
    opposed = sum(not a & b for a, b in both)
    shared = sum(bool(a & b) for a, b in both)
    flipped = has_cue("denied", one.text) != has_cue("denied", other.text)
    return {
        "contrast": min(2, opposed) * (not flipped),
        "contrast_denied": min(2, opposed) * flipped,
        "shared": min(2, shared) * (not flipped),
        "shared_denied": min(2, shared) * flipped,
    }


def _of_cues(one: Statements, other: Statements) -> dict[str, float]:
    denied_one, denied_other = has_cue("denied", one.text), has_cue("denied", other.text)
    bad_one, bad_other = has_cue("bad", one.text), has_cue("bad", other.text)
    whole_one, whole_other = has_cue("whole", one.text), has_cue("whole", other.text)
    fresh = other.words - one.words
    return {
        "denied_one": denied_one and not denied_other,
        "denied_other": denied_other and not denied_one,
        "denied_two": denied_one and denied_other,
        "doubt_one": has_cue("doubt", one.text),
        "doubt_other": has_cue("doubt", other.text),
        "past_one": has_cue("past", one.text),
        "past_other": has_cue("past", other.text),
        "beside_other": has_cue("beside", other.text),
        "only_one": has_cue("only", one.text),
        "only_other": has_cue("only", other.text),
        "bad_whole": bad_one and whole_other and not whole_one,
        "whole_bad": whole_one and bad_other and not bad_one,
        "bad_new": bad_other and not bad_one,
        "most_least": has_cue("most", one.text) and has_cue("least", other.text),
        "least_most": has_cue("least", one.text) and has_cue("most", other.text),
        "insitu_invasive": has_cue("insitu", one.text)
        and has_cue("invasive", other.text)
        and not has_cue("insitu", other.text)
        and not denied_other,
        "invasive_insitu": has_cue("invasive", one.text)
        and has_cue("insitu", other.text)
        and not has_cue("insitu", one.text)
        and not denied_one,
        "fresh": len(fresh) / max(1, len(other.words)),
        "all_fresh": fresh == other.words,
        "none_fresh": not fresh,
    }
