"""The diagnosis: is it the same, how far off is it, and does it behave alike?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
)
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts
from histoeval.terms.catalogue import Behaviour, Concept, closeness, diagnosis_tree
from histoeval.terms.naming import refine
from histoeval.terms.plain import plain
from histoeval.terms.spelling import respelt

Alike = Callable[[str, str], float]
"""How alike two phrases are, from 0 to 1, for words that the catalogue does not know."""

_HEDGE = 0.75
"""What is left of a match when only one of the two reports is sure."""
_NOTHING = {
    Behaviour.MALIGNANT: 0.0,
    Behaviour.IN_SITU: 0.1,
    Behaviour.BORDERLINE: 0.2,
    Behaviour.UNSPECIFIED: 0.3,
}
_NOTHING_HARMLESS = 0.6
"""How well a behaviour agrees with a report that found nothing, or said nothing."""
MATCHED, _SAME = 0.5, 0.85
_BEHAVIOURS = {
    frozenset({Behaviour.MALIGNANT, Behaviour.IN_SITU}): 0.5,
    frozenset({Behaviour.MALIGNANT, Behaviour.BORDERLINE}): 0.35,
    frozenset({Behaviour.MALIGNANT, Behaviour.UNSPECIFIED}): 0.45,
    frozenset({Behaviour.MALIGNANT, Behaviour.BENIGN}): 0.0,
    frozenset({Behaviour.MALIGNANT, Behaviour.NON_NEOPLASTIC}): 0.0,
    frozenset({Behaviour.MALIGNANT, Behaviour.NORMAL}): 0.0,
    frozenset({Behaviour.IN_SITU, Behaviour.BORDERLINE}): 0.5,
    frozenset({Behaviour.IN_SITU, Behaviour.BENIGN}): 0.25,
    frozenset({Behaviour.IN_SITU, Behaviour.NON_NEOPLASTIC}): 0.15,
    frozenset({Behaviour.IN_SITU, Behaviour.NORMAL}): 0.1,
    frozenset({Behaviour.BORDERLINE, Behaviour.BENIGN}): 0.5,
    frozenset({Behaviour.BENIGN, Behaviour.NON_NEOPLASTIC}): 0.7,
    frozenset({Behaviour.BENIGN, Behaviour.NORMAL}): 0.6,
    frozenset({Behaviour.NON_NEOPLASTIC, Behaviour.NORMAL}): 0.6,
}
_BEHAVIOUR_UNLIKE = 0.3
_MORE_EXACT = 0.9
"""What a diagnosis counts for that is of the kind that is true, and says more."""
_DEPTH_OF_DETAIL = 0.6
"""What of a specific diagnosis an umbrella word that is nearly as exact still says."""


@dataclass(frozen=True, slots=True)
class Diagnoses:
    """What is compared of the diagnoses: three parts, and how much is covered on either side."""

    identity: ComparedPart
    behaviour: ComparedPart
    spread: ComparedPart
    completeness: ComparedPart
    soundness: ComparedPart


def compare_diagnoses(reference: Facts, candidate: Facts, alike: Alike) -> Diagnoses:
    """All that two reports say of their diagnoses."""

    def near(one: Diagnosis, other: Diagnosis) -> float:
        """Closeness that may differ by which of the two is the reference."""
        return diagnosis_closeness(one, other, alike)

    return Diagnoses(
        _identity(reference, candidate, near),
        _behaviour(reference, candidate, near),
        _spread(reference, candidate, near),
        _covered(reference, candidate, near),
        _covered_by(reference, candidate, near),
    )


def diagnosis_closeness(reference: Diagnosis, candidate: Diagnosis, alike: Alike) -> float:
    """How much of a diagnosis the candidate's says; a hedge on one side only takes a quarter."""
    near = _closeness(reference, candidate, alike)
    return near * _HEDGE if reference.hedged != candidate.hedged else near


def _closeness(reference: Diagnosis, candidate: Diagnosis, alike: Alike) -> float:
    if plain(respelt(reference.entity.text)) == plain(respelt(candidate.entity.text)):
        return 1.0
    one, other = reference.concept, candidate.concept
    if one is None or other is None:
        return alike(reference.entity.text, candidate.entity.text)
    return max(_said_of(one, other), _said_of(reference.wide or one, candidate.wide or other))


def _said_of(true: Concept, said: Concept) -> float:
    """Closeness of concepts; an umbrella word says the less, the wider it is.

    A diagnosis, and what it is called at a site, are the same: the site is compared by itself.
    """
    tree = diagnosis_tree()
    if not (true.generic or said.generic) and said in (refine(true, said.organs), true):
        return 1.0
    if true.id != said.id and tree.is_a(true.id, said.id):
        detail = tree.depth(said.id) / tree.depth(true.id)
        return min(closeness(true, said), 0.25 + _DEPTH_OF_DETAIL * detail)
    if true.id != said.id and tree.is_a(said.id, true.id) and true.behaviour == said.behaviour:
        return max(closeness(true, said), _MORE_EXACT)
    return closeness(true, said)


Near = Callable[[Diagnosis, Diagnosis], float]


def best_of(
    one: Diagnosis, others: Sequence[Diagnosis], near: Near
) -> tuple[float, Diagnosis | None]:
    """How near the nearest of some diagnoses comes, and which one that is."""
    best = max(others, key=lambda other: near(one, other), default=None)
    return (near(one, best), best) if best is not None else (0.0, None)


def _identity(reference: Facts, candidate: Facts, near: Near) -> ComparedPart:
    """How near the leading diagnoses come: of the first ones, and of those next to them."""
    if not reference.diagnoses and not candidate.diagnoses:
        return ComparedPart(_both_silent(reference, candidate))
    first = max((near(r, c) for r in reference.first for c in candidate.first), default=0.0)
    leading = max((near(r, c) for r in reference.leading for c in candidate.leading), default=0.0)
    matched, mistakes = [], []
    for true in reference.leading:
        value, said = best_of(true, candidate.leading, near)
        if said is not None and value >= MATCHED:
            matched.append(EntityMatch("diagnosis", true.entity, said.entity, value))
        if value < _SAME:
            mistakes.extend(_mistake(true, said, value))
    return ComparedPart((first + leading) / 2, tuple(matched), tuple(mistakes))


def _both_silent(reference: Facts, candidate: Facts) -> float | None:
    """Neither names a diagnosis: the same if both found nothing."""
    if reference.nothing_found and candidate.nothing_found:
        return 1.0
    return None if not reference.nothing_found and not candidate.nothing_found else 0.5


def _mistake(true: Diagnosis, said: Diagnosis | None, value: float) -> list[ReportError]:
    severity = severity_of(true)
    if said is None:
        return [ReportError(ErrorKind.OMISSION, "diagnosis", severity, true.entity, None)]
    call = _call(true, said)
    if call is not None:
        return [
            ReportError(call, "diagnosis", _call_severity(true, said), true.entity, said.entity)
        ]
    if value >= MATCHED:
        return [
            ReportError(
                ErrorKind.OMISSION, "diagnosis", Severity.MODERATE, true.entity, said.entity
            )
        ]
    return [ReportError(ErrorKind.WRONG_DIAGNOSIS, "diagnosis", severity, true.entity, said.entity)]


def severity_of(diagnosis: Diagnosis) -> Severity:
    """How bad it is to miss or to invent a diagnosis."""
    match diagnosis.behaviour:
        case Behaviour.MALIGNANT:
            return Severity.CRITICAL
        case Behaviour.IN_SITU | Behaviour.BORDERLINE:
            return Severity.MAJOR
        case Behaviour.NORMAL:
            return Severity.MINOR
        case _:
            return Severity.MODERATE


def _call(true: Diagnosis, said: Diagnosis) -> ErrorKind | None:
    """Whether the candidate makes more or less of the disease than there is."""
    if Behaviour.UNSPECIFIED in (true.behaviour, said.behaviour):
        return None
    if behaviour_agreement(true.behaviour, said.behaviour) >= MATCHED + 0.1:
        return None
    order = list(Behaviour)
    worse = order.index(said.behaviour) < order.index(true.behaviour)
    return ErrorKind.OVERCALL if worse else ErrorKind.UNDERCALL


def _call_severity(true: Diagnosis, said: Diagnosis) -> Severity:
    return (
        Severity.CRITICAL
        if Behaviour.MALIGNANT in (true.behaviour, said.behaviour)
        else Severity.MAJOR
    )


def behaviour_agreement(one: Behaviour, other: Behaviour) -> float:
    """How well two behaviours agree, from 0 (benign and malignant) to 1."""
    if one == other:
        return 1.0
    return _BEHAVIOURS.get(frozenset({one, other}), _BEHAVIOUR_UNLIKE)


def _behaviour(reference: Facts, candidate: Facts, near: Near) -> ComparedPart:
    """Benign or malignant, invasive or in situ, of the leading diagnoses."""
    if reference.diagnoses and candidate.diagnoses:
        return ComparedPart(
            max(_behave_alike(r, c, near) for r in reference.first for c in candidate.first)
        )
    named = reference.first or candidate.first
    if not named:
        return ComparedPart(_both_silent(reference, candidate))
    return ComparedPart(_NOTHING.get(named[0].behaviour, _NOTHING_HARMLESS))


def _behave_alike(true: Diagnosis, said: Diagnosis, near: Near) -> float:
    """Agreement of behaviours; a phrase that nobody knows behaves as one that reads the same."""
    hedge = _HEDGE if true.hedged != said.hedged else 1.0
    if (true.concept is None or said.concept is None) and near(true, said) >= _SAME * hedge:
        return hedge
    return behaviour_agreement(true.behaviour, said.behaviour) * hedge


def _spread(reference: Facts, candidate: Facts, near: Near) -> ComparedPart:
    """Primary or metastatic, where one of the two speaks of spread."""
    if not any(d.spread for d in (*reference.leading, *candidate.leading)):
        return ComparedPart(None)
    pairs = [
        (true, said)
        for true in reference.leading
        if (said := best_of(true, candidate.leading, near)[1]) is not None
    ]
    if not pairs:
        return ComparedPart(0.0)
    mistakes = tuple(
        ReportError(ErrorKind.CONTRADICTION, "spread", Severity.MAJOR, true.entity, said.entity)
        for true, said in pairs
        if (true.spread is None) != (said.spread is None)
    )
    right = sum((true.spread is None) == (said.spread is None) for true, said in pairs)
    return ComparedPart(right / len(pairs), (), mistakes)


def _weight(diagnosis: Diagnosis) -> float:
    """How much a diagnosis counts beside others; one of an unknown name hardly."""
    return 1.0 + diagnosis.rank


def _covered(reference: Facts, candidate: Facts, near: Near) -> ComparedPart:
    """How much of what the reference diagnoses the candidate says too."""
    said = (*candidate.diagnoses, *candidate.others)
    part = _coverage(reference.diagnoses, lambda d: best_of(d, said, near)[0], ErrorKind.OMISSION)
    denials = tuple(
        ReportError(
            ErrorKind.CONTRADICTION, "diagnosis", severity_of(true), true.entity, denied.entity
        )
        for true in reference.diagnoses
        for denied in candidate.denied
        if not true.hedged and near(true, denied) >= _SAME and best_of(true, said, near)[0] < _SAME
    )
    return ComparedPart(part.value, part.matched, part.mistakes + denials)


def _covered_by(reference: Facts, candidate: Facts, near: Near) -> ComparedPart:
    """How much of what the candidate diagnoses the reference says too."""
    true = (*reference.diagnoses, *reference.others)

    def flipped(one: Diagnosis, other: Diagnosis) -> float:
        """Seen from the candidate, the reference is still the first of the two."""
        return near(other, one)

    part = _coverage(
        candidate.diagnoses, lambda d: best_of(d, true, flipped)[0], ErrorKind.INVENTION
    )
    denials = tuple(
        ReportError(
            ErrorKind.CONTRADICTION, "diagnosis", severity_of(said), denied.entity, said.entity
        )
        for said in candidate.diagnoses
        for denied in reference.denied
        if not said.hedged
        and near(denied, said) >= _SAME
        and best_of(said, true, flipped)[0] < _SAME
    )
    return ComparedPart(part.value, part.matched, part.mistakes + denials)


def _coverage(
    named: Sequence[Diagnosis], value: Callable[[Diagnosis], float], kind: ErrorKind
) -> ComparedPart:
    if not named:
        return ComparedPart(None)
    values = {id(each): value(each) for each in named}
    total = sum(_weight(each) for each in named)
    mistakes = tuple(
        ReportError(
            kind,
            "diagnosis",
            severity_of(each),
            each.entity if kind == ErrorKind.OMISSION else None,
            None if kind == ErrorKind.OMISSION else each.entity,
        )
        for each in named
        if values[id(each)] < MATCHED
    )
    return ComparedPart(sum(_weight(e) * values[id(e)] for e in named) / total, (), mistakes)
