"""One comparison of all specimens from those of each, and from the errors between them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from histoeval.concordance.evidence import (
    ComparedPart,
    EntityMatch,
    ErrorKind,
    Excused,
    ReportError,
    Severity,
)
from histoeval.concordance.specimens.content import IN_SITU
from histoeval.concordance.specimens.misnamed import PART
from histoeval.facts.specimens.text import meeting

# What an error between the parts leaves of the parts that it concerns
_LEFT = {
    Severity.CRITICAL: 0.35,
    Severity.MAJOR: 0.65,
    Severity.MODERATE: 0.94,
    Severity.MINOR: 0.98,
}
_CONCERNED = ("diagnosis", "behaviour", "completeness", "soundness")
_WORDED = (*_CONCERNED, "site", "spread")
_PLACED = ("site", "laterality")
# How much of what is lost in one part counts, by its worst error
_SHARE = (0.1, 0.1, 0.3, 1.0, 1.0)


def by_gravity(parts: Mapping[str, ComparedPart], gravity: int) -> dict[str, ComparedPart]:
    """A part of a report; the wrong side of what is benign is not critical."""
    if gravity >= IN_SITU:
        return dict(parts)
    placed = {
        name: replace(
            parts[name],
            mistakes=tuple(
                replace(each, severity=min(each.severity, Severity.MAJOR))
                for each in parts[name].mistakes
            ),
        )
        for name in _PLACED
    }
    return {**parts, **placed}


def by_severity(parts: Mapping[str, ComparedPart]) -> dict[str, ComparedPart]:
    """A part of a report; other words for what is benign in it cost less than a grave error."""
    worst = max((each.severity for part in parts.values() for each in part.mistakes), default=0)
    share = _SHARE[worst]
    return {
        name: replace(part, value=1 - share * (1 - part.value))
        if name in _WORDED and part.value is not None
        else part
        for name, part in parts.items()
    }


def together(parts: Sequence[tuple[float, ComparedPart]]) -> ComparedPart:
    """One value of several: their mean, pulled down by the worst, so that many do not hide one."""
    valued = [(weight, part.value) for weight, part in parts if part.value is not None]
    matched = tuple(match for _, part in parts for match in part.matched)
    mistakes = tuple(mistake for _, part in parts for mistake in part.mistakes)
    if not valued:
        return ComparedPart(None, matched, mistakes)
    lost = sum(weight * (1 - value) for weight, value in valued) / sum(w for w, _ in valued)
    worst = max(weight * (1 - value) for weight, value in valued)
    return ComparedPart(1 - (lost + worst) / 2, matched, mistakes)


def in_both_views(
    whole: ComparedPart, apart: ComparedPart, wrong: Sequence[ReportError]
) -> ComparedPart:
    """A part of the comparison of two wholes, as far as it is `wrong` specimen by specimen too."""
    if whole.value is None or apart.value is None:
        return whole
    here = meeting((e.reference.start, e.reference.end) for e in wrong if e.reference)
    there = meeting((e.candidate.start, e.candidate.end) for e in wrong if e.candidate)
    mistakes = tuple(
        each
        for each in whole.mistakes  # about the same words of one of the reports
        if (each.reference and here(each.reference.start, each.reference.end))
        or (each.candidate and there(each.candidate.start, each.candidate.end))
    )
    return ComparedPart(max(whole.value, apart.value), whole.matched, mistakes)


def with_errors(
    parts: Mapping[str, ComparedPart],
    errors: Sequence[ReportError],
    beside: tuple[EntityMatch, ...],
    excused: Excused,
) -> dict[str, ComparedPart]:
    """The parts with the errors between specimens, and less for those that these concern."""
    left = 1.0
    for severity in sorted((each.severity for each in errors if not excused(each)), reverse=True):
        left *= _LEFT[severity] if left == 1.0 else _LEFT[severity] ** 0.5
    moved = {
        (entity.start, entity.end, at)
        for each in errors
        if each.kind in (ErrorKind.MOVED_FINDING, ErrorKind.SWAPPED_SPECIMENS)
        for at, entity in enumerate((each.reference, each.candidate))
        if entity
    }

    def is_moved(error: ReportError) -> bool:
        return any(
            entity is not None and (entity.start, entity.end, at) in moved
            for at, entity in enumerate((error.reference, error.candidate))
        )

    found = {}
    for name, part in parts.items():
        value = part.value
        if value is not None and name in _CONCERNED:
            value *= left
        mistakes = tuple(
            each for each in part.mistakes if name not in _CONCERNED or not is_moved(each)
        )
        found[name] = ComparedPart(value, part.matched, mistakes)
    return {**found, PART: ComparedPart(left, beside, tuple(errors))}
