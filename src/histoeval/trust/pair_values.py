"""What two texts say of grades and markers: the same value, another, or a new one."""

from __future__ import annotations

from itertools import product

from histoeval.terms import grades, results
from histoeval.trust.pair_statements import Statements

_RESULTS_SAME, _RESULTS_OTHER = 0.75, 0.1
_REPAIR = frozenset(
    {"mismatch repair", "microsatellite instability", "MLH1", "PMS2", "MSH2", "MSH6"}
)
_GRADES_SAME, _GRADES_OTHER = 0.85, 0.8


def of_grades(one: Statements, other: Statements) -> dict[str, float]:
    """The grades of the hypothesis beside those of the premise."""
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


def of_markers(one: Statements, other: Statements) -> dict[str, float]:
    """The markers of the hypothesis beside those of the premise."""
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
