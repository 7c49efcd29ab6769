"""Findings that change what is done next: how severe it is not to share one."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from histoeval.concordance.evidence import ComparedPart, ErrorKind, Excused, ReportError, Severity
from histoeval.concordance.stated_values import COST
from histoeval.facts.facts import Facts
from histoeval.report import Entity, EntityType
from histoeval.terms.decisive_findings import DecisiveFinding, Standing, read_decisive

_FINDINGS = "findings"
# Parts whose errors may be about such a finding
_RATED = ("diagnosis", "findings", "no_inventions", "markers", "completeness", "soundness")


def with_decisive(
    parts: Mapping[str, ComparedPart], reference: Facts, candidate: Facts, excused: Excused
) -> dict[str, ComparedPart]:
    """The parts with every decisive finding that the reports do not share, rated as what it is."""
    found = dict(parts)
    for error in _unshared(reference, candidate):
        held = {
            name: tuple(_rated(each, error) for each in found[name].mistakes) for name in _RATED
        }
        known = any(_is_about(each, error) for name in _RATED for each in found[name].mistakes)
        for name, mistakes in held.items():
            found[name] = replace(found[name], mistakes=mistakes)
        if not known:
            found[_FINDINGS] = _added(found[_FINDINGS], error, excused)
    return found


def _unshared(reference: Facts, candidate: Facts) -> Iterator[ReportError]:
    ref, cand = read_decisive(reference.stated.text), read_decisive(candidate.stated.text)
    for name in sorted({*ref, *cand}):
        here, there = ref.get(name), cand.get(name)
        standings = {each.standing if each else None for each in (here, there)}
        known = here or there
        if Standing.AFFIRMED not in standings or len(standings) == 1 or known is None:
            continue
        silent = None in standings or (
            Standing.IMPLIED in standings and all(each and each.implied for each in (here, there))
        )
        one = _decisive_entity(reference, here) if here else None
        other = _decisive_entity(candidate, there) if there else None
        if silent and not known.both:
            left_out = here is not None and here.standing == Standing.AFFIRMED
            kind = ErrorKind.OMISSION if left_out else ErrorKind.INVENTION
            entity = one if left_out else other
            if entity is not None:
                yield ReportError.one_sided(kind, _FINDINGS, Severity(known.severity), entity)
        elif Standing.DENIED in standings and not known.compared:
            yield ReportError(
                ErrorKind.CONTRADICTION, _FINDINGS, Severity(known.severity), one, other
            )


def _decisive_entity(facts: Facts, found: DecisiveFinding) -> Entity:
    return Entity(
        text=facts.stated.text[found.start : found.end],
        start=found.start,
        end=found.end,
        type=EntityType.FINDING,
        score=0.5,
    )


def _is_about(error: ReportError, decisive: ReportError) -> bool:
    """Whether an error is about the words of a decisive finding, in one report at least."""
    return any(
        one is not None and other is not None and one.start < other.end and other.start < one.end
        for one, other in (
            (error.reference, decisive.reference),
            (error.candidate, decisive.candidate),
        )
    )


def _rated(error: ReportError, decisive: ReportError) -> ReportError:
    swapped = error.kind in (ErrorKind.WRONG_DIAGNOSIS, ErrorKind.MARKER_FLIP)
    if swapped or not _is_about(error, decisive):
        return error
    return replace(error, severity=max(error.severity, decisive.severity))


def _added(part: ComparedPart, error: ReportError, excused: Excused) -> ComparedPart:
    value = 1.0 if part.value is None else part.value
    cost = 0.0 if excused(error) else COST[error.severity]
    return ComparedPart(max(0.0, value - cost), part.matched, (*part.mistakes, error))
