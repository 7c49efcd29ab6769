"""A value that a text states, with where it stands: what all readers of whole texts return."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

MINOR, MODERATE, MAJOR, CRITICAL = 1, 2, 3, 4
"""How severe it is to state one value for another: from trivial to what could harm a patient."""

_BREAK = re.compile(r"[;\n|]|\.(?=\s|$)")


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A value of a text: what it is of, what it leaves open, and where it stands.

    Two values of one axis agree if they leave something open in common: a Gleason score of 7 is
    grade group 2 or 3. A quantity has its lowest and highest amount instead.
    """

    axis: str
    options: frozenset[str]
    start: int
    end: int
    low: float = 0.0
    high: float = 0.0
    total: float | None = None
    """Of how many, for a count of some."""


Severity = Callable[[StatedValue, StatedValue], int]
"""How severe it is to state the second value for the first; 0 where they agree."""


def conflicts(
    ones: Sequence[StatedValue], others: Sequence[StatedValue], severity: Severity
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Values that only one text states, each with the nearest of its axis in the other.

    A text that leaves a value out, or adds one, is in no conflict by that alone.
    """
    for axis in dict.fromkeys(one.axis for one in ones):
        here = [one for one in ones if one.axis == axis]
        there = [other for other in others if other.axis == axis]
        left = _unmatched(here, there, severity)
        right = _unmatched(there, here, lambda other, one: severity(one, other))
        if right and not left and _is_open(here, there):
            left = here[:1]
        near = sorted(
            (severity(one, other), i, j)
            for i, one in enumerate(left)
            for j, other in enumerate(right)
        )
        done: tuple[set[int], set[int]] = set(), set()
        for value, i, j in near:
            if i not in done[0] and j not in done[1]:
                done[0].add(i)
                done[1].add(j)
                yield left[i], right[j], value


def _is_open(here: Sequence[StatedValue], there: Sequence[StatedValue]) -> bool:
    """Whether the only value of one text agrees with none of the others by more than a part."""
    options = {one.options for one in here}
    return len(options) == 1 and not any(other.options in options for other in there)


def _unmatched(
    ones: Iterable[StatedValue], others: Sequence[StatedValue], severity: Severity
) -> list[StatedValue]:
    """Those that agree with none of the others, each once."""
    left = [one for one in ones if not any(severity(one, other) == 0 for other in others)]
    return list({(one.options, one.low, one.high, one.total): one for one in left}.values())


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Where the sentences of a text are, and the parts between semicolons."""
    start = 0
    for found in _BREAK.finditer(text):
        if found.start() > start:
            yield start, found.start()
        start = found.end()
    if start < len(text):
        yield start, len(text)
