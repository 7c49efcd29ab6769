"""Markers with their results: a positive that became a negative is worse than an omission."""

from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.concordance.stated_values import stated_markers
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import ValueMention
from histoeval.terms.values.marker_results import Result, agreement
from histoeval.terms.values.marker_statements.decisive import decides, speaks_of
from histoeval.terms.values.markers import known_markers

_Marker = ValueMention[Result | None]

_OMITTED, _INVENTED, _NO_RESULT = 0.85, 0.9, 0.95
_MAX_ONE_SIDED = 0.3  # the highest cost of markers that were omitted or added, however many
_FLIPPED, _SAME_POLARITY, _RIGHT = 0.3, 0.7, 0.85


def compare_markers(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> ComparedPart:
    """Each marker's result with that of the same marker."""
    stated = stated_markers(reference, candidate)
    keys = [
        key
        for key in sorted({*reference.markers, *candidate.markers})
        if _is_comparable(key, reference, candidate)
    ]
    if not keys:
        return stated.taken_off(NOT_MENTIONED, ignored)
    matched, mistakes = [], []
    wrong = left = 0.0
    for key in keys:
        ref, cand = reference.markers.get(key), candidate.markers.get(key)
        value = _agreement(ref, cand)
        # Both reports give a result, or both say that there is none yet
        compared = bool(
            ref and cand and ref.value and cand.value and ref.value.tested == cand.value.tested
        )
        has_polarity = ref and ref.value and ref.value.polarity
        if key in stated.axes and not (compared and has_polarity and value >= _SAME_POLARITY):
            continue  # the words of both reports say what it showed
        other = candidate if key in reference.markers else reference
        mistake = _mistake(key, ref, cand, value, not speaks_of(key, other.stated.text))
        cost = 0.0 if ignored(mistake) else 1 - value
        if compared:
            wrong += cost
        else:
            left += cost
        if ref and cand and value >= (_RIGHT if compared else 1.0):
            matched.append(EntityMatch("markers", ref.entity, cand.entity, value))
        else:
            mistakes.append(mistake)
    total = wrong + min(_MAX_ONE_SIDED, left)
    part = ComparedPart(max(0.0, 1 - total), tuple(matched), tuple(mistakes))
    return stated.taken_off(part, ignored)


def _is_comparable(key: str, reference: Facts, candidate: Facts) -> bool:
    """True if both were read, or one does not name it; an unknown one must be in both."""
    if key in reference.markers and key in candidate.markers:
        return True
    silent = candidate if key in reference.markers else reference
    return key in known_markers() and key not in silent.stated.markers


def _agreement(ref: _Marker | None, cand: _Marker | None) -> float:
    if ref is None:
        return _INVENTED
    if cand is None:
        return _OMITTED
    if ref.value is None or cand.value is None:
        return 1.0 if ref.value is cand.value else _NO_RESULT
    if ref.value.tested != cand.value.tested:
        return _OMITTED if ref.value.tested else _INVENTED
    return agreement(ref.value, cand.value)


def _mistake(
    key: str, ref: _Marker | None, cand: _Marker | None, value: float, silent: bool
) -> ReportError:
    if ref is None or cand is None:
        kind = _one_sided(ref)
        severity = _of_one(key, ref or cand, silent)
    elif ref.value is None or cand.value is None:
        kind, severity = _one_sided(ref.value), Severity.MINOR
    elif ref.value.tested != cand.value.tested:
        kind = ErrorKind.OMISSION if ref.value.tested else ErrorKind.INVENTION
        severity = _of_one(key, ref if ref.value.tested else cand, silent=True)
    else:
        kind = ErrorKind.MARKER_FLIP
        flipped = Severity.CRITICAL if decides(key) else Severity.MAJOR
        severity = flipped if value < _FLIPPED else Severity.MODERATE
    entities = ref.entity if ref else None, cand.entity if cand else None
    return ReportError(kind, "markers", severity, *entities)


def _of_one(key: str, marker: _Marker | None, silent: bool) -> Severity:
    """Severity of leaving a marker out, or adding one: most if it is positive and decides."""
    if not decides(key):
        return Severity.MINOR
    positive = marker and marker.value and marker.value.polarity == "positive"
    return Severity.MAJOR if positive and silent else Severity.MODERATE


def _one_sided(ref: object | None) -> ErrorKind:
    return ErrorKind.INVENTION if ref is None else ErrorKind.OMISSION
