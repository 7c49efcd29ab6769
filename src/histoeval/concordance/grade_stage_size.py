"""Grade, stage and measurements: values that can be a little off or quite wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from histoeval.concordance.changed_numbers import numbers_in
from histoeval.concordance.evidence import (
    NOT_SAID,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    ReportError,
    Severity,
)
from histoeval.concordance.matching import paired
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import LexicalFacts, ValueMention
from histoeval.terms.values import grades, measurements, stages
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.measurements import Measurement

Value = TypeVar("Value")

_OMITTED, _MOST_OMITTED = 0.1, 0.25
"""What it costs not to give a value, and not to give any number of them."""
_INVENTED, _MOST_INVENTED = 0.05, 0.15
_RIGHT = 0.85
_WRONG_AT_LEAST = 0.3


@dataclass(frozen=True, slots=True)
class _Sort:
    """What a part is called, what a wrong value is called, and how bad it is."""

    part: str
    kind: ErrorKind
    wrong: Severity
    omitted: Severity
    share: float = 1.0
    """How much of the part a value costs that is all wrong."""


def compare_grades(reference: Facts, candidate: Facts) -> ComparedPart:
    """The grade: that of the whole lesion, or of one aspect with that same aspect."""
    sort = _Sort("grade", ErrorKind.WRONG_GRADE, Severity.MAJOR, Severity.MODERATE)
    true, said = _once(reference.grades), _once(candidate.grades)
    return _compare(sort, true, said, _grades_alike, _heard(reference, candidate, _grade_stands))


def _grades_alike(one: Grade, other: Grade) -> float | None:
    comparable = one.part == other.part or {one.part, other.part} == {None, "nuclear"}
    return grades.agreement(one, other) if comparable else None


def compare_stages(reference: Facts, candidate: Facts) -> ComparedPart:
    """The stage, axis by axis."""
    sort = _Sort("stage", ErrorKind.WRONG_STAGE, Severity.MAJOR, Severity.MODERATE)
    true, said = _once(reference.stages), _once(candidate.stages)
    return _compare(sort, true, said, stages.agreement, _heard(reference, candidate, _stands))


def compare_measurements(reference: Facts, candidate: Facts) -> ComparedPart:
    """Sizes, counts and shares, each with the nearest of its kind."""
    sort = _Sort(
        "measurements", ErrorKind.MEASUREMENT_MISMATCH, Severity.MODERATE, Severity.MINOR, 0.6
    )
    true, said = reference.measurements, candidate.measurements
    heard = _heard(reference, candidate, _numbers_stand)
    return _compare(sort, true, said, _measurements_alike, heard)


Heard = tuple[Callable[[ValueMention[Value]], bool], Callable[[ValueMention[Value]], bool]]
"""Whether the candidate says a value of the reference in words nobody has read; and the reverse."""


def _heard(
    reference: Facts, candidate: Facts, stands: Callable[[ValueMention[Value], LexicalFacts], bool]
) -> Heard[Value]:
    return (
        lambda value: stands(value, candidate.stated),
        lambda value: stands(value, reference.stated),
    )


def _stands(value: ValueMention[Value], other: LexicalFacts) -> bool:
    return other.has_words(value.entity.text)


def _grade_stands(value: ValueMention[Grade], other: LexicalFacts) -> bool:
    return _stands(value, other) or any(
        (_grades_alike(value.value, grade) or 0.0) >= _RIGHT for grade in other.grades
    )


def _numbers_stand(value: ValueMention[Measurement], other: LexicalFacts) -> bool:
    return numbers_in(value.entity.text).keys() <= numbers_in(other.text).keys()


def _measurements_alike(one: Measurement, other: Measurement) -> float | None:
    return measurements.agreement(one, other)


def _once(values: Sequence[ValueMention[Value]]) -> list[ValueMention[Value]]:
    """Each value where it is first said."""
    return list({sited.value: sited for sited in reversed(values)}.values())[::-1]


def _compare(
    sort: _Sort,
    true: Sequence[ValueMention[Value]],
    said: Sequence[ValueMention[Value]],
    agreement: Callable[[Value, Value], float | None],
    heard: Heard[Value],
) -> ComparedPart:
    """What is left after every wrong value, and a little for those that only one report gives.

    Costs add up, so that a wrong value counts as much in a long report as in a short one.
    """
    if not true and not said:
        return NOT_SAID
    pairs = paired([each.value for each in true], [each.value for each in said], agreement)
    matched, mistakes = [], []
    cost = sum(_cost(sort, value) for _, _, value in pairs)
    for i, j, value in pairs:
        if value >= _RIGHT:
            matched.append(EntityMatch(sort.part, true[i].entity, said[j].entity, value))
        else:
            severity = sort.wrong if value < 0.5 else Severity(max(1, sort.wrong - 1))
            mistakes.append(
                ReportError(sort.kind, sort.part, severity, true[i].entity, said[j].entity)
            )
    left_true = _unanswered(true, {i for i, _, _ in pairs}, said, agreement, heard[0])
    left_said = _unanswered(said, {j for _, j, _ in pairs}, true, agreement, heard[1])
    for i in left_true:
        mistakes.append(
            ReportError(ErrorKind.OMISSION, sort.part, sort.omitted, true[i].entity, None)
        )
    for j in left_said:
        mistakes.append(
            ReportError(ErrorKind.INVENTION, sort.part, Severity.MINOR, None, said[j].entity)
        )
    cost += min(_MOST_OMITTED, _OMITTED * len(left_true))
    cost += min(_MOST_INVENTED, _INVENTED * len(left_said))
    return ComparedPart(max(0.0, 1 - cost), tuple(matched), tuple(mistakes))


def _cost(sort: _Sort, value: float) -> float:
    """What a value costs that agrees so far; one that is plainly another, something at least."""
    return max(_WRONG_AT_LEAST if value < _RIGHT else 0.0, sort.share * (1 - value))


def _unanswered(
    ones: Sequence[ValueMention[Value]],
    paired_off: set[int],
    others: Sequence[ValueMention[Value]],
    agreement: Callable[[Value, Value], float | None],
    heard: Callable[[ValueMention[Value]], bool],
) -> list[int]:
    """Values that the other report does not give, not even once for two mentions."""
    return [
        place
        for place, one in enumerate(ones)
        if place not in paired_off
        and not heard(one)
        and not any((agreement(one.value, other.value) or 0.0) >= _RIGHT for other in others)
    ]
