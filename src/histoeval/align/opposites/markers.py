"""The markers in a phrase, fast: whole names only, as our list of markers has them."""

import re
from functools import cache

from histoeval.terms.catalogue import table

_PIECE = re.compile(r"[A-Za-z]+|\d+")
_SHORT = 4
"""A name of up to this many letters and no digit must be written as it is: `MET`, not `met`."""

Pieces = tuple[str, ...]


def markers_in(phrase: str) -> list[str]:
    """The markers that a phrase names, by their first name, the longest name at each place."""
    found = [*_PIECE.finditer(phrase)]
    pieces = tuple(each[0].casefold() for each in found)
    named: list[str] = []
    at = 0
    while at < len(pieces):
        for length in range(min(_longest().get(pieces[at], 0), len(pieces) - at), 0, -1):
            written = phrase[found[at].start() : found[at + length - 1].end()]
            marker = _marker(pieces[at : at + length], written)
            if marker is not None:
                named.append(marker)
                at += length
                break
        else:
            at += 1
    return sorted(set(named))


def _marker(pieces: Pieces, written: str) -> str | None:
    known = _names().get(pieces)
    if known is None:
        return None
    marker, spellings = known
    as_written = len(pieces) == 1 and len(pieces[0]) <= _SHORT
    return None if as_written and written not in spellings else marker


@cache
def _names() -> dict[Pieces, tuple[str, frozenset[str]]]:
    """Markers by the pieces of each of their names, and how these are written."""
    made: dict[Pieces, tuple[str, frozenset[str]]] = {}
    for row in table("markers")["marker"]:
        for name in (row["name"], *row.get("aliases", ())):
            pieces = tuple(piece.casefold() for piece in _PIECE.findall(name))
            marker, spellings = made.get(pieces, (row["name"], frozenset[str]()))
            if pieces and marker == row["name"]:
                made[pieces] = marker, spellings | {name}
    return made


@cache
def _longest() -> dict[str, int]:
    """The most pieces of a name, by the first of them."""
    longest: dict[str, int] = {}
    for pieces in _names():
        longest[pieces[0]] = max(longest.get(pieces[0], 0), len(pieces))
    return longest
