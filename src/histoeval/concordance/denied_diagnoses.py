"""Diagnoses that a report denies: the cost of affirming them, or of not mentioning them."""

from __future__ import annotations

from collections.abc import Sequence

from histoeval.concordance.evidence import ComparedPart, ErrorKind, ReportError, Severity
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts
from histoeval.report import Entity
from histoeval.terms.catalogue import Behaviour, diagnosis_tree
from histoeval.terms.plain import plain

_REVERSED = {Behaviour.MALIGNANT: 0.9, Behaviour.IN_SITU: 0.8, Behaviour.BORDERLINE: 0.7}
_REVERSED_OTHER = 0.5
_LEFT_OUT, _MOST_LEFT_OUT = 0.2, 0.3
"""What it costs to affirm what the other denies, by behaviour, and to leave a denial out."""
_GRAVE = frozenset({Behaviour.MALIGNANT, Behaviour.IN_SITU})
_GRAVE_LEFT = 0.7
"""What is left of the behaviour when one of these was denied by one report only."""
_OPEN = frozenset({Behaviour.MALIGNANT, Behaviour.UNSPECIFIED})


def compare_denials(reference: Facts, candidate: Facts) -> ComparedPart:
    """What is left after diagnoses that one report denies and the other makes or passes over."""
    if not reference.denied and not candidate.denied:
        return ComparedPart(None)
    affirmed = _turned(reference, candidate)
    withdrawn = _turned(candidate, reference)
    mistakes = [
        *(_contradiction(denied, denied.entity, made.entity) for denied, made in affirmed),
        *(_contradiction(denied, made.entity, denied.entity) for denied, made in withdrawn),
    ]
    cost = sum(_cost(denied) for denied, _ in (*affirmed, *withdrawn))
    turned = {id(denied) for denied, _ in affirmed}
    omitted = [each for each in _passed_over(reference, candidate) if id(each) not in turned]
    cost += min(_MOST_LEFT_OUT, _LEFT_OUT * len(omitted))
    mistakes += [
        ReportError(ErrorKind.OMISSION, "findings", Severity.MINOR, each.entity, None)
        for each in omitted
    ]
    return ComparedPart(max(0.0, 1 - cost), (), tuple(mistakes))


def with_denials(behaviour: ComparedPart, reference: Facts, candidate: Facts) -> ComparedPart:
    """How the diagnoses behave; less where only one of the reports denies a malignancy."""
    turned = [*_turned(reference, candidate), *_turned(candidate, reference)]
    grave = any(denied.behaviour in _GRAVE for denied, _ in turned)
    if behaviour.value is None or not grave:
        return behaviour
    return ComparedPart(behaviour.value * _GRAVE_LEFT, behaviour.matched, behaviour.mistakes)


def _contradiction(denied: Diagnosis, reference: Entity, candidate: Entity) -> ReportError:
    return ReportError(ErrorKind.CONTRADICTION, "findings", _severity(denied), reference, candidate)


def _cost(denied: Diagnosis) -> float:
    return _REVERSED.get(denied.behaviour, _REVERSED_OTHER)


def _severity(denied: Diagnosis) -> Severity:
    return Severity.CRITICAL if denied.behaviour == Behaviour.MALIGNANT else Severity.MAJOR


def _turned(one: Facts, other: Facts) -> list[tuple[Diagnosis, Diagnosis]]:
    """What one report denies, and only denies, and the other makes, and only makes."""
    found: dict[str, tuple[Diagnosis, Diagnosis]] = {}
    for denied in one.denied:
        made = next((each for each in other.made if _same(denied, each)), None)
        if made is None or made.hedged or _any_same(denied, one.made):
            continue
        if not _any_same(denied, other.denied):
            found.setdefault(_name(denied), (denied, made))
    return list(found.values())


def _passed_over(reference: Facts, candidate: Facts) -> list[Diagnosis]:
    """What the reference denies and the candidate does not speak of."""
    found: dict[str, Diagnosis] = {}
    for denied in reference.denied:
        spoken = _any_alike(denied, (*candidate.denied, *candidate.made))
        if not spoken and not candidate.stated.has_words(denied.entity.text):
            found.setdefault(_name(denied), denied)
    return list(found.values())


def _name(diagnosis: Diagnosis) -> str:
    return diagnosis.concept.id if diagnosis.concept else plain(diagnosis.entity.text)


def _same(one: Diagnosis, other: Diagnosis) -> bool:
    return _name(one) == _name(other) or plain(one.entity.text) == plain(other.entity.text)


def _any_same(one: Diagnosis, others: Sequence[Diagnosis]) -> bool:
    return any(_same(one, other) for other in others)


def _any_alike(one: Diagnosis, others: Sequence[Diagnosis]) -> bool:
    """Whether one of the others is the same, a kind of it, or another word for any malignancy."""
    return any(_same(one, other) or _akin(one, other) for other in others)


def _akin(one: Diagnosis, other: Diagnosis) -> bool:
    if one.concept is None or other.concept is None:
        return False
    tree, a, b = diagnosis_tree(), one.concept, other.concept
    both_open = a.generic and b.generic and {a.behaviour, b.behaviour} <= _OPEN
    return both_open or tree.is_a(a.id, b.id) or tree.is_a(b.id, a.id)
