"""Grade, stage and measurements: values that can be a little off or quite wrong.

A value of one report is matched with the most alike of the other, each value once.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any, TypeVar

from histoeval.concordance.changed_numbers import numbers_in
from histoeval.concordance.evidence import (
    NOT_MENTIONED,
    ComparedPart,
    EntityMatch,
    ErrorKind,
    IgnoredErrors,
    ReportError,
    Severity,
)
from histoeval.concordance.stated_values import (
    StatedValues,
    is_of_scheme,
    stated_amounts,
    stated_grades,
    stated_stages,
)
from histoeval.facts.facts import Facts
from histoeval.facts.lexical import LexicalFacts, ValueMention, distinct_values
from histoeval.terms.values import grades, measurements, stages
from histoeval.terms.values.grades import Grade
from histoeval.terms.values.measurements import Measurement

Value = TypeVar("Value")
Places = dict[Value, deque[int]]

_OMITTED, _MAX_OMITTED = 0.1, 0.25  # the cost of a value that is omitted, and of all of them
_INVENTED, _MAX_INVENTED = 0.05, 0.15
_RIGHT = 0.85
_WRONG_AT_LEAST = 0.3


@dataclass(frozen=True, slots=True)
class _Sort:
    """Name of a part, kind of error of a wrong value, and its severity."""

    part: str
    kind: ErrorKind
    wrong: Severity
    omitted: Severity
    share: float = 1.0  # how much of the part a value costs that is all wrong
    is_detail: Callable[[ValueMention[Any]], bool] = lambda _: False


def compare_grades(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> ComparedPart:
    """The grade: that of the whole lesion, or of one aspect with that same aspect."""
    sort = _Sort(
        "grade",
        ErrorKind.WRONG_GRADE,
        Severity.MAJOR,
        Severity.MODERATE,
        is_detail=lambda grade: bool(grade.value.part) or is_of_scheme(reference, grade.entity),
    )
    ref, cand = distinct_values(reference.grades), distinct_values(candidate.grades)
    elsewhere = _elsewhere(reference, candidate, _grade_stands)
    stated = stated_grades(reference, candidate)
    return _compare(sort, ref, cand, _grades_alike, elsewhere, ignored, stated)


def _grades_alike(first: Grade, second: Grade) -> float | None:
    comparable = first.part == second.part or {first.part, second.part} == {None, "nuclear"}
    return grades.agreement(first, second) if comparable else None


def compare_stages(reference: Facts, candidate: Facts, ignored: IgnoredErrors) -> ComparedPart:
    """The stage, axis by axis."""
    sort = _Sort("stage", ErrorKind.WRONG_STAGE, Severity.MAJOR, Severity.MODERATE)
    ref, cand = (
        [s for s in distinct_values(facts.stages) if not is_of_scheme(facts, s.entity)]
        for facts in (reference, candidate)
    )
    elsewhere = _elsewhere(reference, candidate, _stands)
    stated = stated_stages(reference, candidate)
    return _compare(sort, ref, cand, stages.agreement, elsewhere, ignored, stated)


def compare_measurements(
    reference: Facts, candidate: Facts, ignored: IgnoredErrors
) -> ComparedPart:
    """Sizes, counts and shares, each with the nearest of its kind."""
    sort = _Sort(
        "measurements", ErrorKind.MEASUREMENT_MISMATCH, Severity.MODERATE, Severity.MINOR, 0.6
    )
    ref, cand = reference.measurements, candidate.measurements

    def stands(value: ValueMention[Measurement], other: LexicalFacts) -> bool:
        return numbers_in(value.entity.text).keys() <= numbers_in(other.text).keys()

    elsewhere = _elsewhere(reference, candidate, stands)
    stated = stated_amounts(reference, candidate)
    return _compare(sort, ref, cand, measurements.agreement, elsewhere, ignored, stated)


# True if the candidate has a value of the reference in words that were not read; and reverse
Elsewhere = tuple[Callable[[ValueMention[Value]], bool], Callable[[ValueMention[Value]], bool]]


def _elsewhere(
    reference: Facts, candidate: Facts, stands: Callable[[ValueMention[Value], LexicalFacts], bool]
) -> Elsewhere[Value]:
    return (
        lambda value: stands(value, candidate.stated),
        lambda value: stands(value, reference.stated),
    )


def _stands(value: ValueMention[Value], lexical: LexicalFacts) -> bool:
    return lexical.has_words(value.entity.text)


def _grade_stands(value: ValueMention[Grade], lexical: LexicalFacts) -> bool:
    return _stands(value, lexical) or any(
        (_grades_alike(value.value, grade) or 0.0) >= _RIGHT for grade in lexical.grades
    )


def _compare(
    sort: _Sort,
    ref: Sequence[ValueMention[Value]],
    cand: Sequence[ValueMention[Value]],
    agreement: Callable[[Value, Value], float | None],
    elsewhere: Elsewhere[Value],
    ignored: IgnoredErrors,
    stated: StatedValues,
) -> ComparedPart:
    """Cost of every wrong value, and a little for those that only one report gives.

    Costs add up, so that a wrong value counts as much in a long report as in a short one. What the
    words of both reports state is compared as they state it, and not again as it was read.
    """
    if not ref and not cand:
        return stated.taken_off(NOT_MENTIONED, ignored)
    done = {i for i, value in enumerate(ref) if stated.settles(value.entity, of_reference=True)}
    done_cand = {
        j for j, value in enumerate(cand) if stated.settles(value.entity, of_reference=False)
    }
    pairs = paired([mention.value for mention in ref], [m.value for m in cand], agreement)
    matched, mistakes = [], []
    cost = 0.0
    for i, j, value in pairs:
        severity = sort.wrong if value < 0.5 else Severity(max(1, sort.wrong - 1))
        wrong = ReportError(sort.kind, sort.part, severity, ref[i].entity, cand[j].entity)
        if value >= _RIGHT:
            matched.append(EntityMatch(sort.part, ref[i].entity, cand[j].entity, value))
        elif i in done or j in done_cand:
            cost += stated.further(wrong, _cost(sort, value), ignored)
            continue
        else:
            mistakes.append(wrong)
        cost += 0.0 if ignored(wrong) else _cost(sort, value)
    answered, answered_cand = {i for i, _, _ in pairs}, {j for _, j, _ in pairs}
    left_ref = _unanswered(ref, answered | done, cand, agreement, elsewhere[0])
    if sort.part == "measurements":
        # Values among several of one kind that the candidate has in no form, nor another for
        compared = [error.reference for error in stated.errors if error.reference]
        others = set(range(len(ref))) - done
        for place in _unanswered(ref, others, cand, agreement, elsewhere[0]):
            entity = ref[place].entity
            if not any(e.start < entity.end and entity.start < e.end for e in compared):
                left_ref.append(place)
    left_cand = _unanswered(cand, answered_cand | done_cand, ref, agreement, elsewhere[1])
    omitted = [
        ReportError(
            ErrorKind.OMISSION,
            sort.part,
            Severity.MINOR if sort.is_detail(ref[i]) else sort.omitted,
            ref[i].entity,
            None,
        )
        for i in left_ref
    ]
    invented = [
        ReportError(ErrorKind.INVENTION, sort.part, Severity.MINOR, None, cand[j].entity)
        for j in left_cand
    ]
    cost += min(_MAX_OMITTED, _OMITTED * sum(not ignored(error) for error in omitted))
    cost += min(_MAX_INVENTED, _INVENTED * sum(not ignored(error) for error in invented))
    part = ComparedPart(max(0.0, 1 - cost), tuple(matched), (*mistakes, *omitted, *invented))
    return stated.taken_off(part, ignored)


def _cost(sort: _Sort, value: float) -> float:
    """The cost of a value that agrees this far; of a plainly different one, some at least."""
    return max(_WRONG_AT_LEAST if value < _RIGHT else 0.0, sort.share * (1 - value))


def _unanswered(
    ones: Sequence[ValueMention[Value]],
    paired_off: set[int],
    others: Sequence[ValueMention[Value]],
    agreement: Callable[[Value, Value], float | None],
    elsewhere: Callable[[ValueMention[Value]], bool],
) -> list[int]:
    """Values that the other report does not give, not even once for two mentions."""
    return [
        index
        for index, value in enumerate(ones)
        if index not in paired_off
        and not elsewhere(value)
        and not any((agreement(value.value, other.value) or 0.0) >= _RIGHT for other in others)
    ]


# --- matching -------------------------------------------------------------------------------------


def paired(
    ones: Sequence[Value], others: Sequence[Value], alike: Callable[[Value, Value], float | None]
) -> list[tuple[int, int, float]]:
    """Places in both and how alike they are; None is for what cannot be compared at all.

    Of pairs that are as alike, the one comes first that stands first. Values that are the same are
    looked at once, so that a long report that repeats itself costs no more than its length.
    """
    free, free_others = _places(ones), _places(others)
    levels: dict[float, list[tuple[Value, Value]]] = {}
    for one in free:
        for other in free_others:
            if (value := alike(one, other)) is not None:
                levels.setdefault(value, []).append((one, other))
    return sorted(
        (i, j, value)
        for value in sorted(levels, reverse=True)
        for i, j in _taken(levels[value], free, free_others)
    )


def _places(values: Iterable[Value]) -> Places[Value]:
    places: Places[Value] = {}
    for index, value in enumerate(values):
        places.setdefault(value, deque()).append(index)
    return places


def _taken(
    pairs: Iterable[tuple[Value, Value]], free: Places[Value], free_others: Places[Value]
) -> Iterator[tuple[int, int]]:
    """Pairs of free places for values that are all as alike, taken from left to right."""
    partners: dict[Value, list[Value]] = {}
    for one, other in pairs:
        partners.setdefault(one, []).append(other)
    named = list(partners)
    waiting = [(free[one][0], which) for which, one in enumerate(named) if free[one]]
    heapify(waiting)
    while waiting:
        i, which = heappop(waiting)
        places = [free_others[other] for other in partners[named[which]] if free_others[other]]
        if places:
            yield i, min(places, key=lambda place: place[0]).popleft()
            free[named[which]].popleft()
            if free[named[which]]:
                heappush(waiting, (free[named[which]][0], which))
