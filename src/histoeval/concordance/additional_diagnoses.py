"""Further diagnoses, where the leading one is right: which were left out, which made up."""

from __future__ import annotations

from collections.abc import Sequence

from histoeval.concordance.diagnosis import (
    MATCHED,
    Alike,
    Near,
    best_of,
    diagnosis_closeness,
    severity_of,
)
from histoeval.concordance.evidence import ComparedPart, ErrorKind, ReportError
from histoeval.facts.diagnoses import Diagnosis
from histoeval.facts.facts import Facts
from histoeval.terms.catalogue import Behaviour

_FURTHER, _MOST_FURTHER = 0.2, 0.5
"""What a further diagnosis costs that was left out or made up, and any number of them."""


def compare_further(
    reference: Facts, candidate: Facts, alike: Alike
) -> tuple[ComparedPart, ComparedPart]:
    """Where the leading diagnosis is right: what else was left out, and what else was made up."""

    def near(one: Diagnosis, other: Diagnosis) -> float:
        """The better of both directions: here neither report is the measure of the other."""
        return max(diagnosis_closeness(one, other, alike), diagnosis_closeness(other, one, alike))

    missing = _without_match(reference, candidate, near)
    extra = _without_match(candidate, reference, near)
    return (
        _further(missing, ErrorKind.OMISSION) if reference.diagnoses else ComparedPart(None),
        _further(extra, ErrorKind.INVENTION) if candidate.diagnoses else ComparedPart(None),
    )


def _without_match(one: Facts, other: Facts, near: Near) -> list[Diagnosis]:
    """Diagnoses that one report makes, and the other neither makes nor says in any words."""
    return [
        each
        for each in (*one.diagnoses, *one.others)
        if each.concept is not None
        and each.behaviour != Behaviour.NORMAL
        and best_of(each, other.made, near)[0] < MATCHED
        and not other.stated.has_words(each.entity.text)
    ]


def _further(diagnoses: Sequence[Diagnosis], kind: ErrorKind) -> ComparedPart:
    cost = min(_MOST_FURTHER, _FURTHER * len(diagnoses))
    mistakes = tuple(
        ReportError(
            kind,
            "diagnosis",
            severity_of(each),
            each.entity if kind == ErrorKind.OMISSION else None,
            None if kind == ErrorKind.OMISSION else each.entity,
        )
        for each in diagnoses
    )
    return ComparedPart(1 - cost, (), mistakes)
