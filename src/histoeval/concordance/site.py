"""Where it is: the organ, the place in it, and the side."""

from __future__ import annotations

from collections.abc import Iterable

from histoeval.concordance.evidence import (
    NOT_SAID,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention
from histoeval.report import Entity
from histoeval.terms.sites import find_sites, organ_of, site_closeness
from histoeval.terms.values.laterality import Side

_SAME_ORGAN, _OTHER_ORGAN = 0.5, 0.3
_STRANGE, _MOST_STRANGE = 0.25, 0.5
"""What it costs to speak of a place that the reference does not, and of any number of them."""
_ONE_OF_BOTH = 0.5
_ONE_SILENT = 0.6
"""What a site counts for that one of the two does not name."""


def compare_sites(reference: Facts, candidate: Facts) -> ComparedPart:
    """Whether both speak of the same organ, named or told by the diagnosis.

    Each side's organ is looked for on the other. Where one of them says nothing of the organ there
    is nothing to compare; that it was left out is an error, not a contradiction.
    """
    values = [
        value
        for one, other in ((reference, candidate), (candidate, reference))
        if (value := _found_in(one, other)) is not None
    ]
    if not values:
        return _unsaid(reference, candidate)
    value = sum(values) / len(values)
    matched = tuple(_matched(reference, candidate))
    if value >= _OTHER_ORGAN or matched:
        return ComparedPart(value, matched)
    return ComparedPart(value, (), (_wrong(reference, candidate),))


def same_named(reference: Facts, candidate: Facts) -> bool:
    """Whether one names all sites that the other names, whatever their diagnoses tell."""
    true, said = set(reference.organs), set(candidate.organs)
    return bool(true and said) and (true <= said or said <= true)


def _found_in(one: Facts, other: Facts) -> float | None:
    """How near the organ of one report comes to those of the other."""
    there = other.homes or other.organs
    if not there:
        return None
    if one.homes:
        return max(_near(home, site) for home in one.homes for site in there)
    if not one.organs:
        return None
    most = max(one.organs.values())
    return max(
        _near(site, place) * min(1.0, 0.5 + 0.5 * count / most)
        for site, count in one.organs.items()
        for place in there
    )


def _near(one: str, other: str) -> float:
    """Nearness of organs: within one organ, a part is as good as the whole."""
    near = site_closeness(one, other)
    return 1.0 if near >= _SAME_ORGAN and organ_of(one) == organ_of(other) else near


def _unsaid(reference: Facts, candidate: Facts) -> ComparedPart:
    """Nothing to compare: both are silent, or only one says where it is."""
    told = [bool(facts.organs or facts.homes) for facts in (reference, candidate)]
    if not any(told):
        return NOT_SAID
    missed = tuple(
        ReportError(ErrorKind.OMISSION, "site", Severity.MINOR, site.entity, None)
        for site in reference.sites[:1]
    )
    return ComparedPart(_ONE_SILENT, (), missed if told[0] else ())


def _matched(reference: Facts, candidate: Facts) -> Iterable[EntityMatch]:
    """Each site of the reference with the nearest one of the candidate."""
    for true in _once(reference.sites):
        best = max(
            candidate.sites, key=lambda said: site_closeness(true.value, said.value), default=None
        )
        if best and (value := site_closeness(true.value, best.value)) >= _SAME_ORGAN:
            yield EntityMatch("site", true.entity, best.entity, value)


def _once(sites: Iterable[ValueMention[str]]) -> list[ValueMention[str]]:
    return list({site.value: site for site in reversed(tuple(sites))}.values())[::-1]


def _wrong(reference: Facts, candidate: Facts) -> ReportError:
    true = reference.sites[0].entity if reference.sites else _first_diagnosis(reference)
    said = candidate.sites[0].entity if candidate.sites else _first_diagnosis(candidate)
    return ReportError(ErrorKind.WRONG_SITE, "site", Severity.CRITICAL, true, said)


def _first_diagnosis(facts: Facts) -> Entity | None:
    return facts.diagnoses[0].entity if facts.diagnoses else None


def strange_sites(reference: Facts, candidate: Facts) -> ComparedPart:
    """What is left after places that only the candidate speaks of, where both name some."""
    known = {*reference.organs, *reference.homes}
    if not known or not candidate.sites:
        return NOT_SAID
    mistakes = tuple(
        ReportError(ErrorKind.INVENTION, "no_inventions", Severity.MODERATE, None, site.entity)
        for site in _once(candidate.sites)
        if max(site_closeness(site.value, other) for other in known) < _SAME_ORGAN
        and site.value in candidate.organs
        and not reference.stated.has_word_of(site.entity.text)
    )
    return ComparedPart(1 - min(_MOST_STRANGE, _STRANGE * len(mistakes)), (), mistakes)


def compare_sides(reference: Facts, candidate: Facts) -> ComparedPart:
    """Left or right: of the leading diagnosis where both say, else organ by organ, else at all."""
    leading = _by_side(reference.leading_sides), _by_side(candidate.leading_sides)
    if all(leading):
        found = _one_side(*leading)
        if found.value != _ONE_OF_BOTH:
            return found
        near, beside = _nearest(reference), _nearest(candidate)
        both = sorted(set(near) & set(beside))
        if not both:
            return found
        return _one_side(_by_side(near[c] for c in both), _by_side(beside[c] for c in both))
    true, said = _by_organ(reference.sides), _by_organ(candidate.sides)
    organs = sorted(set(true) & set(said))
    pairs = [(true[organ], said[organ]) for organ in organs] or [
        (_by_side(reference.sides), _by_side(candidate.sides))
    ]
    parts = [_one_side(*pair) for pair in pairs if all(pair)]
    if not parts:
        return NOT_SAID
    return ComparedPart(
        min(part.value for part in parts if part.value is not None),
        tuple(match for part in parts for match in part.matched),
        tuple(mistake for part in parts for mistake in part.mistakes),
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


def _one_side(true: _Sides, said: _Sides) -> ComparedPart:
    shared = sorted(set(true) & set(said))
    matched = tuple(EntityMatch("laterality", true[side], said[side], 1.0) for side in shared)
    if set(true) == set(said):
        return ComparedPart(1.0, matched)
    wrong = ReportError(
        ErrorKind.WRONG_LATERALITY,
        "laterality",
        Severity.MAJOR if shared else Severity.CRITICAL,
        next((true[side] for side in true if side not in said), next(iter(true.values()))),
        next((said[side] for side in said if side not in true), next(iter(said.values()))),
    )
    return ComparedPart(_ONE_OF_BOTH if shared else 0.0, matched, (wrong,))


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
