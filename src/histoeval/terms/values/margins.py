"""Margins of an operation: clear, close or involved, and which one."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from histoeval.terms.lexicon import Lexicon
from histoeval.terms.values.stated import (
    CRITICAL,
    MAJOR,
    MODERATE,
    StatedValue,
    clauses,
)

MARGIN = "margin"
_WORDS = Lexicon("terms/data/margins.toml", before="")
_PIECE = re.compile(
    r",|\bbut\b|\bwhile\b|\bwhereas\b|\balthough\b|\band\b(?=[\w\s-]{1,40}\bmargins?\b)"
    r"|\band\b(?=\s+(?:clear|free|involved|positive|negative|not)\b)",
    re.IGNORECASE,
)
_LISTING = re.compile(r"\bmargins?(?: status)?\s*[:\u2013-]", re.IGNORECASE)
_FORMER = re.compile(r"\b(?:previously|initially|originally|formerly)\b[^);,.]*", re.IGNORECASE)
_LENGTH = re.compile(r"(?<![\d.])(?P<n>\d+(?:\.\d+)?)\s*(?:mm|cm)\b")
_ORDER = ("unknown", "clear", "close", "involved")


@lru_cache(maxsize=1 << 11)
def read_margins(text: str) -> tuple[StatedValue, ...]:
    if not _WORDS.has(text, "margin", "subject"):
        return ()
    return tuple(_of_clauses(_FORMER.sub(lambda match: " " * len(match.group()), text)))


def _of_clauses(text: str) -> Iterator[StatedValue]:
    """The margins of each clause; a list of them may go on after a semicolon."""
    listing = False
    for start, end in clauses(text):
        listing = bool(_LISTING.search(text, start, end)) or (listing and text[start - 1] == ";")
        yield from _of_clause(text, start, end, listing)


def _of_clause(text: str, start: int, end: int, listing: bool) -> Iterator[StatedValue]:
    """Pieces that say of a margin how it is; one that names it only is read with the next."""
    cuts = [found.start() for found in _PIECE.finditer(text, start, end)]
    held: int | None = None
    spoken = False
    for first, last in zip([start, *cuts], [*cuts, end], strict=True):
        piece = text[first:last]
        is_margin = _WORDS.has(
            _WORDS.pattern("margin", "other").sub(" ", piece), "margin", "subject"
        )
        status = _status(text[first if held is None else held : last])
        others = spoken and re.search(r"\b(?:others?|remaining|rest|one)\b", piece)
        placed = (listing or spoken) and _WORDS.has(piece, "margin", "places")
        if (is_margin or held is not None or others or placed) and status:
            begin = first if held is None else held
            lead = len(text[begin:last]) - len(text[begin:last].lstrip(" ,"))
            matches = _WORDS.pattern("margin", "places").finditer(text[begin:last])
            places = (match.group().lower() for match in matches)
            # A place has one name in all texts: radial is circumferential
            same = _WORDS.entry("same_places")
            options = frozenset(
                {status, *(f"at {same.get(margin_place, margin_place)}" for margin_place in places)}
            )
            yield StatedValue(MARGIN, options, begin + lead, last)
            held, spoken = None, True
        elif is_margin:
            held = first if held is None else held


def _status(piece: str) -> str | None:
    if _WORDS.has(piece, "margin", "unknown"):
        return "unknown"
    involved = _WORDS.pattern("margin", "involved").search(piece)
    free = _WORDS.pattern("margin", "free").search(piece)
    if free and not (involved and re.match(r"not |incomplete", involved.group(), re.IGNORECASE)):
        denied = re.match(r"no|do|without|not ", free.group(), re.IGNORECASE)
        if not involved or denied or free.start() < involved.start():
            return "clear"
    if involved:
        return "involved"
    if length := _LENGTH.search(piece):
        return "clear" if float(length["n"]) > 0 else "involved"
    return "close" if _WORDS.has(piece, "margin", "close") else None


def _state(value: StatedValue) -> str:
    return next(state for state in _ORDER if state in value.options)


def _places(value: StatedValue) -> frozenset[str]:
    return frozenset(option for option in value.options if option.startswith("at "))


def margin_conflicts(
    ones: Sequence[StatedValue], others: Sequence[StatedValue]
) -> Iterator[tuple[StatedValue, StatedValue, int]]:
    """Margins that are clear in one text and involved in the other.

    A margin is compared with that of the same name; else the worst with the worst.
    """
    if not ones or not others:
        return
    for first in ones:
        of_same_place = [second for second in others if _places(first) & _places(second)]
        is_same = not of_same_place or any(
            _state(second) == _state(first) for second in of_same_place
        )
        if not is_same and (severity := _between(_state(first), _state(of_same_place[0]))):
            yield first, of_same_place[0], severity
            return
    worst, other_worst = (
        max(values, key=lambda v: _ORDER.index(_state(v))) for values in (ones, others)
    )
    if severity := _between(_state(worst), _state(other_worst)):
        alone = len(ones) == len(others) == 1
        yield worst, other_worst, severity if alone else min(severity, MAJOR)
        return
    involved, other_involved = (
        [value for value in values if _state(value) == "involved" and _places(value)]
        for values in (ones, others)
    )
    if not len(involved) == len(other_involved) == 1 or len(ones) != len(others):
        return
    (first,), (second,) = involved, other_involved
    first_places, second_places = _places(first), _places(second)
    if not first_places & second_places and any(
        not first_places.isdisjoint(pair) and not second_places.isdisjoint(pair)
        for pair in ([f"at {name}" for name in pair] for pair in _WORDS.entry("margin", "opposite"))
    ):
        yield first, second, MAJOR


def _between(first: str, second: str) -> int:
    if first == second:
        return 0
    if {first, second} == {"clear", "involved"}:
        return CRITICAL
    return MAJOR if "involved" in (first, second) else MODERATE
