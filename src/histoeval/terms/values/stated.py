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
            for one in filter(None, either.groups()):
                phrase = words[: either.start()] + one + words[either.end() :]
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
    for axis in dict.fromkeys(one.axis for one in ones):
        here = [one for one in ones if one.axis == axis]
        there = [other for other in others if other.axis == axis]
        left = _unmatched(here, there, severity)
        right = _unmatched(there, here, lambda other, one: severity(one, other))
        takes_back = bool(right) and not left and len({one.options for one in here}) == 1
        if takes_back:
            left = here[:1]
        less = takes_back and any(other.options == here[0].options for other in there)
        near = sorted(
            (max(MINOR, severity(one, other) - less), i, j)
            for i, one in enumerate(left)
            for j, other in enumerate(right)
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
    left = [one for one in ones if not any(severity(one, other) == 0 for other in others)]
    return list({(one.options, one.low, one.high, one.total): one for one in left}.values())


def clauses(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a text, and of the parts between semicolons."""
    start = 0
    for stop in _BREAK.finditer(text):
        if stop.start() > start:
            yield start, stop.start()
        start = stop.end()
    if start < len(text):
        yield start, len(text)
