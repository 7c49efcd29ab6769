"""The leading diagnosis: is it the same, how close is it, and does it behave alike?"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
"""How well a behaviour agrees with a report that found nothing, or mentions nothing."""
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
    """The parts that are compared of the diagnoses."""

    identity: ComparedPart
    behaviour: ComparedPart
    spread: ComparedPart
    completeness: ComparedPart
    """How much of the reference's diagnoses the candidate has."""
    soundness: ComparedPart
    """How much of the candidate's diagnoses the reference has."""


def compare_diagnoses(
    reference: Facts, candidate: Facts, alike: Alike, excused: Excused = NOTHING_EXCUSED
) -> Diagnoses:
    """All parts that concern the diagnoses."""

    def near(one: Diagnosis, other: Diagnosis) -> float:
        """Closeness that may differ by which of the two is the reference."""
        if excused.between("diagnosis", one.entity, other.entity):
            return 1.0
        return diagnosis_closeness(one, other, alike)

    def near_backward(one: Diagnosis, other: Diagnosis) -> float:
        """Seen from the candidate, the reference is still the first of the two."""
        return near(other, one)

    return Diagnoses(
        _identity(reference, candidate, near, excused),
        _behaviour(reference, candidate, near, excused),
        _spread(reference, candidate, near, excused),
        _covered(reference, candidate, near, ErrorKind.OMISSION, excused),
        _covered(candidate, reference, near_backward, ErrorKind.INVENTION, excused),
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
    return max(
        _concept_closeness(one, other),
        _concept_closeness(reference.wide or one, candidate.wide or other),
    )


def _concept_closeness(ref: Concept, cand: Concept) -> float:
    """Closeness of concepts; an umbrella word says the less, the wider it is.

    A diagnosis, and what it is called at a site, are the same: the site is compared by itself.
    """
    tree = diagnosis_tree()
    if not (ref.generic or cand.generic) and cand in (refine(ref, cand.organs), ref):
        return 1.0
    if ref.id != cand.id and tree.is_a(ref.id, cand.id):
        detail = tree.depth(cand.id) / tree.depth(ref.id)
        return min(closeness(ref, cand), 0.25 + _DEPTH_OF_DETAIL * detail)
    if ref.id != cand.id and tree.is_a(cand.id, ref.id) and ref.behaviour == cand.behaviour:
        return max(closeness(ref, cand), _MORE_EXACT)
    return closeness(ref, cand)


Near = Callable[[Diagnosis, Diagnosis], float]


def best_of(
    one: Diagnosis, others: Sequence[Diagnosis], near: Near
) -> tuple[float, Diagnosis | None]:
    """How near the nearest of some diagnoses comes, and which one that is."""
    best = max(others, key=lambda other: near(one, other), default=None)
    return (near(one, best), best) if best is not None else (0.0, None)


def _identity(reference: Facts, candidate: Facts, near: Near, excused: Excused) -> ComparedPart:
    """How near the leading diagnoses come: of the first ones, and of those next to them."""
    if not reference.diagnoses and not candidate.diagnoses:
        return ComparedPart(_both_silent(reference, candidate))
    alone = float(_excused_alone(reference, candidate, excused))
    first = max((near(r, c) for r in reference.first for c in candidate.first), default=alone)
    leading = max((near(r, c) for r in reference.leading for c in candidate.leading), default=alone)
    matched, mistakes = [], []
    for ref in reference.leading:
        value, cand = best_of(ref, candidate.leading, near)
        if cand is not None and value >= MATCHED:
            matched.append(EntityMatch("diagnosis", ref.entity, cand.entity, value))
        if value < _SAME:
            mistakes.append(_mistake(ref, cand, value))
    return ComparedPart((first + leading) / 2, tuple(matched), tuple(mistakes))


def _excused_alone(reference: Facts, candidate: Facts, excused: Excused) -> bool:
    """Whether only one report makes a diagnosis, and that is not to count."""
    return any(excused.between("diagnosis", each.entity, None) for each in reference.first) or any(
        excused.between("diagnosis", None, each.entity) for each in candidate.first
    )


def _both_silent(reference: Facts, candidate: Facts) -> float | None:
    """Neither names a diagnosis: the same if both found nothing."""
    if reference.nothing_found and candidate.nothing_found:
        return 1.0
    return None if not reference.nothing_found and not candidate.nothing_found else 0.5


def _mistake(ref: Diagnosis, cand: Diagnosis | None, value: float) -> ReportError:
    kind, severity = ErrorKind.WRONG_DIAGNOSIS, severity_of(ref)
    if cand is None:
        return ReportError(ErrorKind.OMISSION, "diagnosis", severity, ref.entity, None)
    if (call := _call(ref, cand)) is not None:
        malignant = Behaviour.MALIGNANT in (ref.behaviour, cand.behaviour)
        kind, severity = call, Severity.CRITICAL if malignant else Severity.MAJOR
    elif value >= MATCHED:
        kind, severity = ErrorKind.OMISSION, Severity.MODERATE
    return ReportError(kind, "diagnosis", severity, ref.entity, cand.entity)


def severity_of(diagnosis: Diagnosis) -> Severity:
    """How bad it is to omit or to hallucinate a diagnosis."""
    match diagnosis.behaviour:
        case Behaviour.MALIGNANT:
            return Severity.CRITICAL
        case Behaviour.IN_SITU | Behaviour.BORDERLINE:
            return Severity.MAJOR
        case Behaviour.NORMAL:
            return Severity.MINOR
        case _:
            return Severity.MODERATE


def _call(ref: Diagnosis, cand: Diagnosis) -> ErrorKind | None:
    """Whether the candidate makes more or less of the disease than there is."""
    if Behaviour.UNSPECIFIED in (ref.behaviour, cand.behaviour):
        return None
    if behaviour_agreement(ref.behaviour, cand.behaviour) >= MATCHED + 0.1:
        return None
    order = list(Behaviour)
    worse = order.index(cand.behaviour) < order.index(ref.behaviour)
    return ErrorKind.OVERCALL if worse else ErrorKind.UNDERCALL


def behaviour_agreement(one: Behaviour, other: Behaviour) -> float:
    """How well two behaviours agree, from 0 (benign and malignant) to 1."""
    if one == other:
        return 1.0
    return _BEHAVIOURS.get(frozenset({one, other}), _BEHAVIOUR_UNLIKE)


def _behaviour(reference: Facts, candidate: Facts, near: Near, excused: Excused) -> ComparedPart:
    """Benign or malignant, invasive or in situ, of the leading diagnoses."""
    if reference.diagnoses and candidate.diagnoses:
        return ComparedPart(
            max(
                1.0
                if excused.between("diagnosis", r.entity, c.entity)
                else _behave_alike(r, c, near)
                for r in reference.first
                for c in candidate.first
            )
        )
    named = reference.first or candidate.first
    if not named:
        return ComparedPart(_both_silent(reference, candidate))
    if _excused_alone(reference, candidate, excused):
        return ComparedPart(1.0)
    return ComparedPart(_NOTHING.get(named[0].behaviour, _NOTHING_HARMLESS))


def _behave_alike(ref: Diagnosis, cand: Diagnosis, near: Near) -> float:
    """Agreement of behaviours; an unknown phrase behaves as one that reads the same."""
    hedge = _HEDGE if ref.hedged != cand.hedged else 1.0
    if (ref.concept is None or cand.concept is None) and near(ref, cand) >= _SAME * hedge:
        return hedge
    return behaviour_agreement(ref.behaviour, cand.behaviour) * hedge


def _spread(reference: Facts, candidate: Facts, near: Near, excused: Excused) -> ComparedPart:
    """Primary or metastatic, where one of the two speaks of spread."""
    if not any(d.spread for d in (*reference.leading, *candidate.leading)):
        return ComparedPart(None)
    pairs = [
        (ref, cand)
        for ref in reference.leading
        if (cand := best_of(ref, candidate.leading, near)[1]) is not None
    ]
    if not pairs:
        return ComparedPart(0.0)
    mistakes = tuple(
        ReportError(ErrorKind.CONTRADICTION, "spread", Severity.MAJOR, ref.entity, cand.entity)
        for ref, cand in pairs
        if (ref.spread is None) != (cand.spread is None)
    )
    wrong = sum(not excused(mistake) for mistake in mistakes)
    return ComparedPart((len(pairs) - wrong) / len(pairs), (), mistakes)


def _covered(
    one: Facts, other: Facts, near: Near, kind: ErrorKind, excused: Excused
) -> ComparedPart:
    """How much of the diagnoses of one report the other has too, each weighted by its rank."""
    if not one.diagnoses:
        return NOT_MENTIONED
    there = (*other.diagnoses, *other.others)
    alone = [
        ReportError.one_sided(kind, "diagnosis", severity_of(each), each.entity)
        for each in one.diagnoses
    ]
    values = [
        1.0 if excused(missing) else best_of(each, there, near)[0]
        for each, missing in zip(one.diagnoses, alone, strict=True)
    ]
    weights = [1.0 + each.rank for each in one.diagnoses]
    mistakes = [missing for missing, value in zip(alone, values, strict=True) if value < MATCHED]
    for each, value in zip(one.diagnoses, values, strict=True):
        for denied in other.denied:
            if not each.hedged and value < _SAME and near(each, denied) >= _SAME:
                pair = (each.entity, denied.entity)
                mistakes.append(
                    ReportError(
                        ErrorKind.CONTRADICTION,
                        "diagnosis",
                        severity_of(each),
                        *(pair if kind == ErrorKind.OMISSION else pair[::-1]),
                    )
                )
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    return ComparedPart(mean, (), tuple(mistakes))
