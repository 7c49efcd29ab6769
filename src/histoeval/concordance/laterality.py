"""The side: left, right or both, of the leading diagnosis or organ by organ."""

from collections.abc import Iterable

from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    NOTHING_EXCUSED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention
from histoeval.report import Entity
from histoeval.terms.sites import find_sites, organ_of
from histoeval.terms.values.laterality import Side, side_of

_ONE_OF_BOTH = 0.5


def compare_sides(
    reference: Facts, candidate: Facts, excused: Excused = NOTHING_EXCUSED
) -> ComparedPart:
    """Left or right: of the leading diagnosis where both say, else organ by organ, else at all."""
    leading = _by_side(reference.leading_sides), _by_side(candidate.leading_sides)
    if all(leading):
        found = _one_side(*leading, excused)
        if found.value != _ONE_OF_BOTH:
            return found
        near, beside = _nearest(reference), _nearest(candidate)
        both = sorted(set(near) & set(beside))
        if not both:
            return found
        sides = _by_side(near[c] for c in both), _by_side(beside[c] for c in both)
        return _one_side(*sides, excused)
    ref, cand = _by_organ(reference.sides), _by_organ(candidate.sides)
    organs = sorted(set(ref) & set(cand))
    pairs = [(ref[organ], cand[organ]) for organ in organs] or [
        (_by_side(reference.sides), _by_side(candidate.sides))
    ]
    parts = [_one_side(*pair, excused) for pair in pairs if all(pair)]
    if not parts:
        return _side_missing(reference, candidate)
    return ComparedPart(
        min(part.value for part in parts if part.value is not None),
        tuple(match for part in parts for match in part.matched),
        tuple(mistake for part in parts for mistake in part.mistakes),
    )


def _side_missing(reference: Facts, candidate: Facts) -> ComparedPart:
    """A side that the candidate does not name, though it names the site: told, not counted."""
    sides = _by_side(reference.sides)
    said = candidate.sides or side_of(candidate.stated.text)
    if len(sides) != 1 or said or not candidate.sites:
        return NOT_MENTIONED
    (entity,) = sides.values()
    return ComparedPart(
        None, (), (ReportError(ErrorKind.OMISSION, "laterality", Severity.MODERATE, entity, None),)
    )


def _nearest(facts: Facts) -> dict[str, ValueMention[Side]]:
    """The side that stands next to each diagnosis, by its concept; before it rather than after."""
    found = {}
    for each in facts.diagnoses:
        before = [side for side in facts.sides if side.entity.start <= each.entity.start]
        if each.concept and facts.sides:
            found[each.concept.id] = before[-1] if before else facts.sides[0]
    return found


_Sides = dict[Side, Entity]


def _one_side(ref: _Sides, cand: _Sides, excused: Excused) -> ComparedPart:
    shared = sorted(set(ref) & set(cand))
    matched = tuple(EntityMatch("laterality", ref[side], cand[side], 1.0) for side in shared)
    if set(ref) == set(cand):
        return ComparedPart(1.0, matched)
    wrong = ReportError(
        ErrorKind.WRONG_LATERALITY,
        "laterality",
        _severity(ref, cand, bool(shared)),
        next((ref[side] for side in ref if side not in cand), next(iter(ref.values()))),
        next((cand[side] for side in cand if side not in ref), next(iter(cand.values()))),
    )
    value = 1.0 if excused(wrong) else _ONE_OF_BOTH if shared else 0.0
    return ComparedPart(value, matched, (wrong,))


def _severity(ref: _Sides, cand: _Sides, shared: bool) -> Severity:
    """How bad a wrong side is; less where one report only says more of both sides."""
    if not shared:
        return Severity.CRITICAL
    both = any(each.get(Side.LEFT) is each.get(Side.RIGHT, 0) for each in (ref, cand))
    return Severity.MODERATE if both else Severity.MAJOR


def _by_organ(sides: Iterable[ValueMention[Side]]) -> dict[str, _Sides]:
    organs: dict[str, list[ValueMention[Side]]] = {}
    for sited in sides:
        for match in find_sites(sited.entity.text):
            organs.setdefault(organ_of(match.id), []).append(sited)
    return {organ: _by_side(those) for organ, those in organs.items()}


def _by_side(sides: Iterable[ValueMention[Side]]) -> _Sides:
    """The sides that are named; both sides are left and right."""
    found: _Sides = {}
    for sited in sides:
        both = (Side.LEFT, Side.RIGHT) if sited.value == Side.BILATERAL else (sited.value,)
        for side in both:
            found.setdefault(side, sited.entity)
    return found
