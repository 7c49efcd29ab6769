"""Grade, stage and measurements: values that can be a little off or quite wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from histoeval.concord.evidence import NOT_SAID, Kind, Matched, Mistake, Part, Severity
from histoeval.concord.facts import Facts, Sited
from histoeval.concord.pairing import paired
from histoeval.terms import grades, measurements, stages
from histoeval.terms.grades import Grade
from histoeval.terms.measurements import Measurement

Value = TypeVar("Value")

_OMITTED, _MOST_OMITTED = 0.1, 0.25
"""What it costs not to give a value, and not to give any number of them."""
_INVENTED, _MOST_INVENTED = 0.05, 0.15
_RIGHT = 0.85


@dataclass(frozen=True, slots=True)
class _Sort:
    """What a part is called, what a wrong value is called, and how bad it is."""

    part: str
    kind: Kind
    wrong: Severity
    omitted: Severity


def compare_grades(reference: Facts, candidate: Facts) -> Part:
    """The grade: that of the whole lesion, or of one aspect with that same aspect."""
    sort = _Sort("grade", Kind.WRONG_GRADE, Severity.MAJOR, Severity.MODERATE)
    return _compare(sort, _once(reference.grades), _once(candidate.grades), _grades_alike)


def _grades_alike(one: Grade, other: Grade) -> float | None:
    comparable = one.part == other.part or {one.part, other.part} == {None, "nuclear"}
    return grades.agreement(one, other) if comparable else None


def compare_stages(reference: Facts, candidate: Facts) -> Part:
    """The stage, axis by axis."""
    sort = _Sort("stage", Kind.WRONG_STAGE, Severity.MAJOR, Severity.MODERATE)
    return _compare(sort, _once(reference.stages), _once(candidate.stages), stages.agreement)


def compare_measurements(reference: Facts, candidate: Facts) -> Part:
    """Sizes, counts and shares, each with the nearest of its kind."""
    sort = _Sort("measurements", Kind.MEASUREMENT_MISMATCH, Severity.MODERATE, Severity.MINOR)
    return _compare(sort, reference.measurements, candidate.measurements, _measurements_alike)


def _measurements_alike(one: Measurement, other: Measurement) -> float | None:
    return measurements.agreement(one, other)


def _once(values: Sequence[Sited[Value]]) -> list[Sited[Value]]:
    """Each value where it is first said."""
    return list({sited.value: sited for sited in reversed(values)}.values())[::-1]


def _compare(
    sort: _Sort,
    true: Sequence[Sited[Value]],
    said: Sequence[Sited[Value]],
    agreement: Callable[[Value, Value], float | None],
) -> Part:
    """What is left after every wrong value, and a little for those that only one report gives.

    Costs add up, so that a wrong value counts as much in a long report as in a short one.
    """
    if not true and not said:
        return NOT_SAID
    pairs = paired([each.value for each in true], [each.value for each in said], agreement)
    matched, mistakes = [], []
    cost = sum(1 - value for _, _, value in pairs)
    for i, j, value in pairs:
        if value >= _RIGHT:
            matched.append(Matched(sort.part, true[i].entity, said[j].entity, value))
        else:
            severity = sort.wrong if value < 0.5 else Severity(max(1, sort.wrong - 1))
            mistakes.append(Mistake(sort.kind, sort.part, severity, true[i].entity, said[j].entity))
    left_true = _unanswered(true, {i for i, _, _ in pairs}, said, agreement)
    left_said = _unanswered(said, {j for _, j, _ in pairs}, true, agreement)
    for i in left_true:
        mistakes.append(Mistake(Kind.OMISSION, sort.part, sort.omitted, true[i].entity, None))
    for j in left_said:
        mistakes.append(Mistake(Kind.INVENTION, sort.part, Severity.MINOR, None, said[j].entity))
    cost += min(_MOST_OMITTED, _OMITTED * len(left_true))
    cost += min(_MOST_INVENTED, _INVENTED * len(left_said))
    return Part(max(0.0, 1 - cost), tuple(matched), tuple(mistakes))


def _unanswered(
    ones: Sequence[Sited[Value]],
    paired_off: set[int],
    others: Sequence[Sited[Value]],
    agreement: Callable[[Value, Value], float | None],
) -> list[int]:
    """Values that the other report does not give, not even once for two mentions."""
    return [
        place
        for place, one in enumerate(ones)
        if place not in paired_off
        and not any((agreement(one.value, other.value) or 0.0) >= _RIGHT for other in others)
    ]
