"""Features of grades: the same, another, on another scale, or implied."""

from itertools import product

from histoeval.nli.features.parse import Statements
from histoeval.terms.values import grades
from histoeval.terms.values.implied_grades import (
    ImpliedGrades,
    graded,
    has_tiers,
    is_least,
    is_not_graded,
    is_of_part,
)
from histoeval.terms.values.quantity_relations import Fits

_GRADES_SAME, _GRADES_OTHER = 0.85, 0.8
_TIER = {"1": "low", "2": "low", "3": "high", "4": "high"}


def of_grades(one: Statements, other: Statements) -> dict[str, float]:
    """The grades of the hypothesis beside those of the premise, stated or implied."""
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
    given, claimed = graded(one.text), graded(other.text)
    fits = _fits(given, claimed, one, other)
    part = is_of_part(one.text) != is_of_part(other.text)
    return {
        "grade_same": same and not different and fits is None,
        "grade_other": different and not same and not apart and fits is None,
        "grade_component": different and not same and apart and fits is None,
        "grade_part": different and not same and part and fits is None,
        "grade_two": different and same,
        "grade_new": bool(other.grades) and not one.grades,
        "grade_worked_same": fits is Fits.SAME,
        "grade_worked_other": fits is Fits.OTHER,
        "grade_worked_open": fits is Fits.OPEN,
        "grade_not_given": bool(other.grades) and is_not_graded(one.text),
        "grade_least": bool(other.grades) and is_least(one.text),
    }


def _fits(
    given: ImpliedGrades, claimed: ImpliedGrades, one: Statements, other: Statements
) -> Fits | None:
    """The relation of two grades where a scale has to be worked out or changed."""
    if claimed.gleason and given.group and not given.gleason:
        return (
            Fits.OPEN
            if claimed.group & given.group and given.group != {"1"}
            else _sets(given.group, claimed.group)
        )
    if given.group and claimed.group:
        return _sets(given.group, claimed.group)
    if given.number and claimed.number and (given.worked or claimed.worked):
        return _sets(given.number, claimed.number)
    if (has_tiers(one.text) or has_tiers(other.text)) and given.number and claimed.tier:
        return _sets(frozenset(_TIER[each] for each in given.number), claimed.tier)
    if has_tiers(one.text) and given.tier and claimed.number and not given.number:
        fits = _sets(given.tier, frozenset(_TIER[each] for each in claimed.number))
        return Fits.OPEN if fits is Fits.SAME else fits
    return None


def _sets(given: frozenset[str], claimed: frozenset[str]) -> Fits:
    if given <= claimed:
        return Fits.SAME
    return Fits.OPEN if given & claimed else Fits.OTHER
