"""Overlapping windows over a report, so that a model of limited length can read any of it.

A window is as many whole sentences as fit. Neighbouring windows share some, and the border of
what they own lies among these. A thing is counted from the window that owns its first character,
and since a window reaches beyond what it owns, it sees that thing whole. No text is refused: a
sentence that is too long is cut between words, and a word that is too long between characters.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from histoeval.reader.sentences import TextSpan, sentences
from histoeval.report import Entity

Measure = Callable[[str], int]
"""How many tokens a model makes of a fragment of text."""

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Window(TextSpan):
    """What a model is shown at once, and the part of it that no other window owns."""

    own_start: int
    own_end: int


@dataclass(frozen=True, slots=True)
class _Piece(TextSpan):
    """A sentence, or a part of one that is too long, with the white space that follows it."""

    cost: int
    opens_sentence: bool


def windows(text: str, measure: Measure, limit: int, overlap: int) -> list[Window]:
    """Windows of at most `limit` tokens, of which neighbours share about `overlap`.

    They begin and end where sentences do, unless a sentence is longer than the limit. What they
    own tiles the text. Text without a word has no windows. Only a single character that is more
    tokens than the limit makes a window that exceeds it.
    """
    if not 0 <= overlap < limit:
        raise ValueError(f"windows of {limit} tokens cannot overlap by {overlap}")
    if not text.strip():
        return []
    if measure(text) <= limit:
        return [Window(0, len(text), 0, len(text))]
    pieces = list(_pieces(text, measure, limit, overlap))
    runs = list(_runs(text, pieces, measure, limit, overlap))
    borders = [0, *_borders(pieces, runs), len(text)]
    return [
        Window(pieces[run.start].start, pieces[run.end - 1].end, own_start, own_end)
        for run, (own_start, own_end) in zip(runs, pairwise(borders), strict=True)
    ]


def within(entities: Sequence[Entity], window: Window) -> list[int]:
    """Positions of the entities that stand whole in a window; they come in order of their start."""
    first = bisect_left(entities, window.start, key=lambda entity: entity.start)
    last = bisect_right(entities, window.end, key=lambda entity: entity.start)
    return [i for i in range(first, last) if entities[i].end <= window.end]


def _pieces(text: str, measure: Measure, limit: int, overlap: int) -> Iterator[_Piece]:
    """The sentences of a text with the white space around them, the too long ones in parts."""
    starts = [sentence.start for sentence in sentences(text)]
    for start, end in pairwise([0, *starts[1:], len(text)]):
        cost = max(1, measure(text[start:end]))
        if cost <= limit:
            yield _Piece(start, end, cost, opens_sentence=True)
        else:
            yield from _words(text, start, end, measure, limit, overlap)


def _words(
    text: str, start: int, end: int, measure: Measure, limit: int, overlap: int
) -> Iterator[_Piece]:
    """The words of a long sentence; a word that is too long comes in small parts."""
    starts = [word.start() for word in _WORD.finditer(text, start, end)]
    for first, last in pairwise([start, *starts[1:], end]):
        cost = max(1, measure(text[first:last]))
        if cost <= limit:
            yield _Piece(first, last, cost, opens_sentence=first == start)
        else:
            most = max(1, (overlap or limit) // 4)
            for part in _halves(text, first, last, measure, most):
                yield _Piece(part.start, part.end, part.cost, opens_sentence=part.start == start)


def _halves(text: str, start: int, end: int, measure: Measure, most: int) -> Iterator[_Piece]:
    """A stretch of characters, halved until each part has at most `most` tokens."""
    cost = max(1, measure(text[start:end]))
    if cost <= most or end - start == 1:
        yield _Piece(start, end, cost, opens_sentence=False)
        return
    middle = (start + end) // 2
    yield from _halves(text, start, middle, measure, most)
    yield from _halves(text, middle, end, measure, most)


def _runs(
    text: str, pieces: list[_Piece], measure: Measure, limit: int, overlap: int
) -> Iterator[TextSpan]:
    """Which pieces each window holds: as many as fit, and always one more than before."""
    first, seen = 0, 0
    while seen < len(pieces):
        last = _fill(text, pieces, first, measure, limit)
        if last <= seen:
            first += 1
            continue
        yield TextSpan(first, last)
        seen = last
        first = _next_first(pieces, first, last, limit, overlap)


def _fill(text: str, pieces: list[_Piece], first: int, measure: Measure, limit: int) -> int:
    """The end of the longest run of pieces from `first` on that a window can hold.

    Tokens of the whole can be more than those of the parts, so the whole is measured as well.
    """
    last, total = first + 1, pieces[first].cost
    while last < len(pieces) and total + pieces[last].cost <= limit:
        total += pieces[last].cost
        last += 1
    while last - first > 1 and measure(text[pieces[first].start : pieces[last - 1].end]) > limit:
        last -= 1
    return last


def _next_first(pieces: list[_Piece], first: int, last: int, limit: int, overlap: int) -> int:
    """The piece that the next window begins with: the start of a sentence, if it can be.

    The window shares the pieces from there to `last`, and must have room for one more.
    """
    if last == len(pieces):
        return last
    room = min(overlap, limit - pieces[last].cost)
    shared = last
    while shared - 1 > first and pieces[shared - 1].cost <= room:
        shared -= 1
        room -= pieces[shared].cost
    opening = (i for i in range(shared, last + 1) if pieces[i].opens_sentence)
    return next(opening, shared)


def _borders(pieces: list[_Piece], runs: list[TextSpan]) -> Iterator[int]:
    """Where one window's own part ends and the next one's begins, among what they share.

    At the start of a sentence, if one is shared, and as near the middle as can be.
    """
    previous = 0
    for run, following in pairwise(runs):
        shared = sum(piece.cost for piece in pieces[following.start : run.end])
        ranked: list[tuple[bool, int, int]] = []
        before = 0
        for i in range(following.start, run.end + 1):
            if i > previous:
                ranked.append((not pieces[i].opens_sentence, abs(2 * before - shared), i))
            before += pieces[i].cost
        previous = min(ranked)[2]
        yield pieces[previous].start
