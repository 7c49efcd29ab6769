"""Where the sentences of a report begin and end, as exact slices of its text.

A sentence here is what a pathologist would read in one breath: a sentence of prose, an item of
a list, a heading, or a label with its value. Nothing is copied, normalised or omitted: the
sentences stand in order, do not overlap, and hold every character that is not white space.

Reports come as prose, markdown, capitals without end, and scans whose line breaks were turned
into full stops. `full_stops` decides what a full stop means, `layout_lines` what a line break does.
"""

import re
from bisect import bisect_right
from dataclasses import dataclass
from functools import lru_cache

from histoeval.reader.full_stops import only_marks, stop_ends_sentence
from histoeval.reader.layout_lines import NEWLINE, line_break_ends_sentence, parts_paragraphs

_RULE = "_=~-"
_STOP = r".!?…\u3002\uff01\uff1f"
_BORDER = re.compile(rf"[{_STOP}][{_STOP}\"'\u2019”»)\]}}*_]*|{NEWLINE}\s*|[{_RULE}]{{8,}}")
_BRACKET = re.compile(r"[()\[\]]")
_NOT_SPACE = re.compile(r"\S")
_CAPITAL = re.compile(r"[A-Z]")
_MAX_ASIDE_CHARS = 200
_MIN_CHARS_WITHOUT_CAPITALS = 200


@dataclass(frozen=True, slots=True)
class TextSpan:
    """A slice of a text, by the positions of its first character and of the one after its last."""

    start: int
    end: int

    def of(self, text: str) -> str:
        """The words of the slice."""
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Sentence(TextSpan):
    """A sentence, list item, heading or labelled value, without white space around it."""


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text, in order."""
    return list(_sentences(text))


@lru_cache(maxsize=1 << 8)  # a report is asked for its sentences by many
def _sentences(text: str) -> tuple[Sentence, ...]:
    found: list[Sentence] = []
    capitals, asides = _has_capitals(text), _asides(text)
    start = line = _skip_space(text, 0)
    for border in _BORDER.finditer(text, start):
        at, after = border.span()
        end = after
        if border[0][0].isspace():
            end = at
            ends = start < at and _ends_at_line_break(text, start, line, border, asides)
            line = after
        elif border[0][0] in _RULE:
            ends = True
        else:
            ends = stop_ends_sentence(text, start, at, after, capitals)
            ends = ends and not _holds(asides, after - 1)
        if ends:
            found.append(_trimmed(text, start, end))
            start = _skip_space(text, end)
    if start < len(text):
        found.append(_trimmed(text, start, len(text)))
    return tuple(found)


def _ends_at_line_break(
    text: str, start: int, line: int, gap: re.Match[str], asides: list[tuple[int, int]]
) -> bool:
    """Whether the sentence from `start` on ends where the present line does.

    It always does at a blank line, and never when it is only the number of a list so far.
    """
    if parts_paragraphs(gap[0]):
        return True
    if only_marks(text, start, gap.start()) or _holds(asides, gap.start()):
        return False
    return line_break_ends_sentence(text, max(start, line), gap.start(), gap.end())


def _has_capitals(text: str) -> bool:
    """Whether capitals tell where sentences begin.

    They do not in a text that has none: some models write small letters only, with spaces
    around every stop. A short piece of text may lack them by chance.
    """
    if _CAPITAL.search(text):
        return True
    return len(text) < _MIN_CHARS_WITHOUT_CAPITALS and " . " not in text


def _asides(text: str) -> list[tuple[int, int]]:
    """Where brackets open and close, outermost ones only, unless what they hold is too long.

    Scanned reports lose brackets, so a bracket pairs with the nearest that is still open.
    """
    opened: list[int] = []
    asides: list[tuple[int, int]] = []
    for bracket in _BRACKET.finditer(text):
        at = bracket.start()
        if text[at] in "([":
            opened.append(at)
        elif opened and at - (start := opened.pop()) <= _MAX_ASIDE_CHARS:
            while asides and asides[-1][0] > start:
                asides.pop()
            asides.append((start, at))
    return asides


def _holds(asides: list[tuple[int, int]], at: int) -> bool:
    """Whether a position lies inside one of these brackets, which are in order and apart."""
    i = bisect_right(asides, (at, at)) - 1
    return i >= 0 and at < asides[i][1]


def _skip_space(text: str, start: int) -> int:
    found = _NOT_SPACE.search(text, start)
    return found.start() if found else len(text)


def _trimmed(text: str, start: int, end: int) -> Sentence:
    return Sentence(start, start + len(text[start:end].rstrip()))
