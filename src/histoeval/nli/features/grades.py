"""What two texts say of grades: the same, another, on another scale, or worked out."""

from __future__ import annotations

import re
from itertools import product

from histoeval.nli.features.parse import Statements
from histoeval.terms.values import grades
from histoeval.terms.values.implied_grades import ImpliedGrades, graded, has_tiers
from histoeval.terms.values.quantity_relations import Fits

_GRADES_SAME, _GRADES_OTHER = 0.85, 0.8
_TIER = {"1": "low", "2": "low", "3": "high", "4": "high"}
_NOT_ASSESSED = re.compile(
    r"grade (?:cannot|could not|is not|not)|no (?:gleason|grade)|not applicable|not been given"
)
_AT_LEAST = re.compile(r"\bat least (?:\w+[- ])?(?:grade|low|moderate|mild)")
_PART = re.compile(
    r"architectur|nuclear (?:grade|atypia|score)|nuclei|mitotic (?:score|component)|pattern"
    r"|areas?\b"
    r"|component\b|focal"
)


def of_grades(one: Statements, other: Statements) -> dict[str, float]:
    """The grades of the hypothesis beside those of the premise, told or worked out."""
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
    told, asked = graded(one.text), graded(other.text)
    fits = _fits(told, asked, one, other)
    part = bool(_PART.search(one.text)) != bool(_PART.search(other.text))
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
        "grade_not_given": bool(other.grades) and bool(_NOT_ASSESSED.search(one.text)),
        "grade_least": bool(other.grades) and bool(_AT_LEAST.search(one.text)),
    }


def _fits(
    told: ImpliedGrades, asked: ImpliedGrades, one: Statements, other: Statements
) -> Fits | None:
    """What one grade is to another where a scale has to be worked out or changed."""
    if asked.gleason and told.group and not told.gleason:
        return (
            Fits.OPEN
            if asked.group & told.group and told.group != {"1"}
            else _sets(told.group, asked.group)
        )
    if told.group and asked.group:
        return _sets(told.group, asked.group)
    if told.number and asked.number and (told.worked or asked.worked):
        return _sets(told.number, asked.number)
    if (has_tiers(one.text) or has_tiers(other.text)) and told.number and asked.tier:
        return _sets(frozenset(_TIER[each] for each in told.number), asked.tier)
    if has_tiers(one.text) and told.tier and asked.number and not told.number:
        fits = _sets(told.tier, frozenset(_TIER[each] for each in asked.number))
        return Fits.OPEN if fits is Fits.SAME else fits
    return None


def _sets(told: frozenset[str], asked: frozenset[str]) -> Fits:
    if told <= asked:
        return Fits.SAME
    return Fits.OPEN if told & asked else Fits.OTHER
