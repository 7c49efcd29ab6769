"""A value that a text states, with where it stands: what all readers of whole texts return."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

# How severe it is to state one value for another: from trivial to what could harm a patient
MINOR, MODERATE, MAJOR, CRITICAL = 1, 2, 3, 4

_BREAK = re.compile(r"[;\n|]|\.(?=\s|$)")
_OR = r"\s?(?:,\s?)?(?:(?:\band/or|\bor|\bversus|\bvs\.?)\s|/(?=[a-z]))\s?"
_EITHER = re.compile(
    rf"(?<![\w+-])(?P<one>[\w+-]++){_OR}(?P<other>[\w+-]++)|(?P<low>\d)\s?(?:-|to)\s?(?P<high>\d)",
    re.IGNORECASE,
)
_OR_AFTER = re.compile(rf"{_OR}[\w+-]++", re.IGNORECASE)
_OR_BEFORE = re.compile(rf"(?<![\w+-])[\w+-]++{_OR}$", re.IGNORECASE)
_OR_REACH = 40


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
    total: float | None = None  # of how many, for a count of some

    def of(self, text: str) -> str:
        return text[self.start : self.end]


Read = Callable[[str], Iterable[StatedValue]]


def with_alternatives(text: str, read: Read) -> Iterator[StatedValue]:
    """The values of a text, and those that it leaves open beside them: grade 2 or 3."""
    for value in read(text):
        yield value
        before = _OR_BEFORE.search(text, max(0, value.start - _OR_REACH), value.start)
        after = _OR_AFTER.match(text, value.end)
        start = before.start() if before else value.start
        end = after.end() if after else value.end
        words = text[start:end]
        for either in _EITHER.finditer(words):
            for alternative in filter(None, either.groups()):
                phrase = words[: either.start()] + alternative + words[either.end() :]
                for other in read(phrase):
                    if other.axis == value.axis and other.options != value.options:
                        yield replace(other, start=start, end=end)


# How severe it is to state the second value for the first; 0 where they agree
Severity = Callable[[StatedValue, StatedValue], int]


def conflicts(
    ones: Sequence[StatedValue], others: Sequence[StatedValue], severity: Severity
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Values that only one text states, each with the nearest of its axis in the other.

    A text that leaves a value out is in no conflict by that alone. One that states another beside
    the only value of the first takes back what it says, which is a step less severe.
    """
    for axis in dict.fromkeys(first.axis for first in ones):
        first_values = [first for first in ones if first.axis == axis]
        second_values = [second for second in others if second.axis == axis]
        left = _unmatched(first_values, second_values, severity)
        right = _unmatched(
            second_values, first_values, lambda second, first: severity(first, second)
        )
        takes_back = (
            bool(right) and not left and len({first.options for first in first_values}) == 1
        )
        if takes_back:
            left = first_values[:1]
        less = takes_back and any(
            second.options == first_values[0].options for second in second_values
        )
        near = sorted(
            (max(MINOR, severity(first, second) - less), i, j)
            for i, first in enumerate(left)
            for j, second in enumerate(right)
        )
        done: tuple[set[int], set[int]] = set(), set()
        for value, i, j in near:
            if i not in done[0] and j not in done[1]:
                done[0].add(i)
                done[1].add(j)
                yield left[i], right[j], value


def _unmatched(
    ones: Iterable[StatedValue], others: Sequence[StatedValue], severity: Severity
) -> list[StatedValue]:
    """Those that agree with none of the others, each once."""
    left = [first for first in ones if not any(severity(first, second) == 0 for second in others)]
    return list(
        {(first.options, first.low, first.high, first.total): first for first in left}.values()
    )


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text, and of the parts between semicolons."""
    start = 0
    for stop in _BREAK.finditer(text):
        if stop.start() > start:
            yield start, stop.start()
        start = stop.end()
    if start < len(text):
        yield start, len(text)
