"""Reports as pieces that can be marked: words, and what stands between them, with their places."""

import re
from typing import NamedTuple

LONGEST = 60_000
"""In a longer text lines are marked, and not words: a page of more pieces is slow."""

_WORDS = re.compile(r"\w+(?:[-./]\w+)*|\s+|[^\w\s]")
_LINES = re.compile(r"[^\n]{1,500}\n?|\n")


class TextPiece(NamedTuple):
    """A piece of a text and where it starts, in characters."""

    start: int
    text: str


def text_pieces(text: str) -> list[TextPiece]:
    """The pieces of a text; together they are the text."""
    cut = _WORDS if len(text) <= LONGEST else _LINES
    return [TextPiece(found.start(), found[0]) for found in cut.finditer(text)]
