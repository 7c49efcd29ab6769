"""Markers with their results: a positive that became a negative is worse than one left out."""

from __future__ import annotations

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
from histoeval.terms.values.marker_results import Result, agreement
from histoeval.terms.values.markers import known_markers

_OMITTED, _INVENTED, _UNSAID = 0.85, 0.9, 0.95
_MOST_LEFT = 0.3
"""What it costs at most to leave out or to add markers, however many."""
_FLIPPED, _RIGHT = 0.3, 0.85


def compare_markers(reference: Facts, candidate: Facts) -> ComparedPart:
    """Each marker's result with that of the same marker."""
    keys = [
        key
        for key in sorted({*reference.markers, *candidate.markers})
        if _is_comparable(key, reference, candidate)
    ]
    if not keys:
        return NOT_SAID
    matched, mistakes = [], []
    wrong = left = 0.0
    for key in keys:
        true, said = reference.markers.get(key), candidate.markers.get(key)
        value = _agreement(true, said)
        compared = bool(true and said and true.value and said.value)
        if compared:
            wrong += 1 - value
        else:
            left += 1 - value
        if true and said and value >= (_RIGHT if compared else 1.0):
            matched.append(EntityMatch("markers", true.entity, said.entity, value))
        else:
            mistakes.append(_mistake(true, said, value))
    cost = wrong + min(_MOST_LEFT, left)
    return ComparedPart(max(0.0, 1 - cost), tuple(matched), tuple(mistakes))


def _is_comparable(key: str, reference: Facts, candidate: Facts) -> bool:
    """Whether both were read, or one does not name it; what nobody knows must be in both."""
    if key in reference.markers and key in candidate.markers:
        return True
    silent = candidate if key in reference.markers else reference
    return key in known_markers() and key not in silent.stated.markers


def _agreement(
    true: ValueMention[Result | None] | None, said: ValueMention[Result | None] | None
) -> float:
    if true is None:
        return _INVENTED
    if said is None:
        return _OMITTED
    if true.value is None or said.value is None:
        return 1.0 if true.value is said.value else _UNSAID
    return agreement(true.value, said.value)


def _mistake(
    true: ValueMention[Result | None] | None, said: ValueMention[Result | None] | None, value: float
) -> ReportError:
    if true is None or said is None:
        kind = ErrorKind.INVENTION if true is None else ErrorKind.OMISSION
        return ReportError(
            kind,
            "markers",
            Severity.MODERATE,
            true.entity if true else None,
            said.entity if said else None,
        )
    if true.value is None or said.value is None:
        kind = ErrorKind.INVENTION if true.value is None else ErrorKind.OMISSION
        return ReportError(kind, "markers", Severity.MINOR, true.entity, said.entity)
    severity = Severity.MAJOR if value < _FLIPPED else Severity.MODERATE
    return ReportError(ErrorKind.MARKER_FLIP, "markers", severity, true.entity, said.entity)
