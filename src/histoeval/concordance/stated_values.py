"""Values that the words of both reports state and that do not agree, each with its severity.

Classes, stages, marker results, margins, nodes and amounts are read from the whole text, beside
what the reader found; where both reports state a value, the reader's is not compared again.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from histoeval.concordance.evidence import (
    ComparedPart,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.facts.facts import Facts
from histoeval.facts.scope import scope_of
from histoeval.report import Entity, EntityType
from histoeval.terms.values.amounts import amount_conflicts, read_amounts
from histoeval.terms.values.margins import margin_conflicts, read_margins
from histoeval.terms.values.marker_statements.decisive import covered_markers, marker_severity
from histoeval.terms.values.marker_statements.read import read_marker_statements
from histoeval.terms.values.nodes import node_conflicts, read_nodes
from histoeval.terms.values.schemes import read_schemes, scheme_severity
from histoeval.terms.values.stated import Read, StatedValue, conflicts, with_alternatives
from histoeval.terms.values.stated_stages import read_stages, stage_severity
from histoeval.terms.values.tumour_grades import CNS, NUCLEAR, TUMOUR

# What a value takes off its part
COST: Mapping[Severity, float] = {
    Severity.MINOR: 0.1,
    Severity.MODERATE: 0.3,
    Severity.MAJOR: 0.6,
    Severity.CRITICAL: 0.8,
}

_OF_TUMOURS = frozenset({"Gleason", TUMOUR, NUCLEAR, CNS})
_COUNTED = frozenset({"Ki-67"})  # markers that are shares of cells, and compared as such
_OF_MARGIN = re.compile(r"margin|excis|resect|edge|\bink|\bR[012]\b", re.IGNORECASE)

Conflict = tuple[StatedValue, StatedValue, int]


@dataclass(frozen=True, slots=True)
class StatedValues:
    """Values of one kind that both reports state: where, and what does not agree."""

    errors: tuple[ReportError, ...]
    # Where the reference states what the candidate states too
    reference: tuple[tuple[int, int], ...]
    candidate: tuple[tuple[int, int], ...]
    axes: frozenset[str] = frozenset()  # what both reports state a value of

    def settles(self, entity: Entity, *, of_reference: bool) -> bool:
        """True if the value of an entity is stated in words that were compared already."""
        spans = self.reference if of_reference else self.candidate
        return any(start < entity.end and entity.start < end for start, end in spans)

    def further(self, read: ReportError, cost: float, ignored: IgnoredErrors) -> float:
        """Cost of a value as it was read, beyond what it costs as it is stated."""
        for error in self.errors:
            if _meet(error.reference, read.reference) and _meet(error.candidate, read.candidate):
                return 0.0 if ignored(error) else max(0.0, cost - COST[error.severity])
        return 0.0

    def taken_off(self, part: ComparedPart, ignored: IgnoredErrors) -> ComparedPart:
        """A part of the comparison with these errors."""
        if not self.errors and not self.reference:
            return part
        value = 1.0 if part.value is None else part.value
        cost = sum(COST[error.severity] for error in self.errors if not ignored(error))
        return replace(part, value=max(0.0, value - cost), mistakes=(*self.errors, *part.mistakes))


def _meet(one: Entity | None, other: Entity | None) -> bool:
    return bool(one and other and one.start < other.end and other.start < one.end)


_MOST_CHARS = 20_000  # of a text: in longer ones what follows is compared by entities alone


_READERS: Mapping[str, Read] = {
    "grade": read_schemes,
    "stage": read_stages,
    "nodes": read_nodes,
    "markers": read_marker_statements,
    "margins": read_margins,
    "measurements": read_amounts,
}


@lru_cache(maxsize=1 << 11)
def _in_scope(text: str, kind: str) -> tuple[StatedValue, ...]:
    """The values of a text that are its own, and not of history or advice."""
    values = with_alternatives(text[:_MOST_CHARS], _READERS[kind])
    return tuple(value for value in values if not _scope(text).is_gap(value.start))


_scope = lru_cache(maxsize=1 << 8)(scope_of)


def is_of_scheme(facts: Facts, entity: Entity) -> bool:
    """True if an entity is a class of a scheme that grades no tumour: fibrosis stage 2."""
    return any(
        value.axis not in _OF_TUMOURS and value.start < entity.end and entity.start < value.end
        for value in _in_scope(facts.stated.text, "grade")
    )


def without_settled_numbers(reference: Facts, candidate: Facts) -> tuple[str, str]:
    """Both texts without the numbers of values that both state, which are compared as values."""
    texts = [reference.stated.text, candidate.stated.text]
    for kind in ("grade", "stage", "markers"):
        both = _both(reference, candidate, kind)
        shared = {value.axis for value in both[0]} & {value.axis for value in both[1]}
        for side, values in enumerate(both):
            for value in values:
                if value.axis in shared:
                    words = re.sub(r"\d", " ", texts[side][value.start : value.end])
                    texts[side] = texts[side][: value.start] + words + texts[side][value.end :]
    return texts[0], texts[1]


def stated_grades(reference: Facts, candidate: Facts) -> StatedValues:
    ref, cand = _both(reference, candidate, "grade")
    found = conflicts(ref, cand, scheme_severity)
    kind = ErrorKind.WRONG_GRADE, "grade", EntityType.GRADE
    return _stated(reference, candidate, (ref, cand), found, kind)


def stated_stages(reference: Facts, candidate: Facts) -> StatedValues:
    ref, cand = _both(reference, candidate, "stage")
    nodes, other_nodes = _both(reference, candidate, "nodes")
    found = [*conflicts(ref, cand, stage_severity), *node_conflicts(nodes, other_nodes)]
    kind = ErrorKind.WRONG_STAGE, "stage", EntityType.STAGE
    return _stated(reference, candidate, ((*ref, *nodes), (*cand, *other_nodes)), found, kind)


def stated_markers(reference: Facts, candidate: Facts) -> StatedValues:
    ref, cand = _both(reference, candidate, "markers")
    found = conflicts(ref, cand, marker_severity)
    kind = ErrorKind.MARKER_FLIP, "markers", EntityType.MARKER
    stated = _stated(reference, candidate, (ref, cand), found, kind)
    shares = [
        {option for value in values for option in value.options}
        for values in _both(reference, candidate, "measurements")
    ]
    counted = _COUNTED & shares[0] & shares[1]
    return replace(stated, axes=covered_markers(stated.axes) | counted)


def stated_margins(reference: Facts, candidate: Facts) -> StatedValues:
    ref, cand = _both(reference, candidate, "margins")
    kind = ErrorKind.CONTRADICTION, "findings", EntityType.FINDING
    return _stated(reference, candidate, (ref, cand), margin_conflicts(ref, cand), kind)


def without_margins(facts: Facts, stated: StatedValues, *, of_reference: bool) -> Facts:
    """Facts without the findings about margins whose status was compared already."""
    findings, mentioned = (
        tuple(
            finding
            for finding in findings
            if not _OF_MARGIN.search(finding.entity.text)
            or not stated.settles(finding.entity, of_reference=of_reference)
        )
        for findings in (facts.findings, facts.mentioned)
    )
    return replace(facts, findings=findings, mentioned=mentioned)


def stated_amounts(reference: Facts, candidate: Facts) -> StatedValues:
    ref, cand = _both(reference, candidate, "measurements")
    nodes = [node for values in _both(reference, candidate, "nodes") for node in values]
    found = [
        (one, other, severity)
        for one, other, severity in amount_conflicts(ref, cand)
        if one.axis != "share" or not any(n.start < one.end and one.start < n.end for n in nodes)
    ]
    kind = ErrorKind.MEASUREMENT_MISMATCH, "measurements", EntityType.MEASUREMENT
    return _stated(reference, candidate, (ref, cand), found, kind)


def _both(
    reference: Facts, candidate: Facts, kind: str
) -> tuple[tuple[StatedValue, ...], tuple[StatedValue, ...]]:
    return _in_scope(reference.stated.text, kind), _in_scope(candidate.stated.text, kind)


def _stated(
    reference: Facts,
    candidate: Facts,
    both: tuple[Iterable[StatedValue], Iterable[StatedValue]],
    found: Iterable[Conflict],
    kind: tuple[ErrorKind, str, EntityType],
) -> StatedValues:
    ref, cand = (list(values) for values in both)
    shared = {value.axis for value in ref} & {value.axis for value in cand}
    errors = [
        ReportError(
            kind[0],
            kind[1],
            Severity(severity),
            _entity(reference.stated.text, one, kind[2]),
            _entity(candidate.stated.text, other, kind[2]),
        )
        for one, other, severity in found
    ]
    # One error for each two stretches of text: the worst
    worst: dict[tuple[int, ...], ReportError] = {}
    for error in sorted(errors, key=lambda error: -error.severity):
        places = tuple(entity.start for entity in (error.reference, error.candidate) if entity)
        worst.setdefault(places, error)
    return StatedValues(
        tuple(worst.values()),
        tuple((value.start, value.end) for value in ref if value.axis in shared),
        tuple((value.start, value.end) for value in cand if value.axis in shared),
        frozenset(shared),
    )


def _entity(text: str, value: StatedValue, kind: EntityType) -> Entity:
    start, end = value.start, value.end
    while end > start and text[end - 1].isspace():
        end -= 1
    return Entity(text=text[start:end], start=start, end=end, type=kind, score=0.5)
