"""Spans of a report that state its diagnosis, or nothing: gaps to fill in, requests.

What is denied, doubted, past or only advised is told by `histoeval.terms.assertion`.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from histoeval.reader.sections import sections
from histoeval.terms.assertion import before, clause_before, has_wording, stance_at

__all__ = (
    "TextScope",
    "before",
    "clause_before",
    "concluding_text",
    "has_wording",
    "scope_of",
    "stance_at",
)

Span = tuple[int, int]

_TO_FILL_IN = (
    r"insert|specify|specific|provide|include|describe|enter|select|choose|name|date|e\.g|etc|if |"
    r"possible|_{2,}|\.{3}|signature|your|patient|pathologist|institution|type of|number"
)
# What a template leaves to be filled in: nothing in it is a statement
_GAP = re.compile(
    rf"\[(?=[^\[\]\n]*(?:{_TO_FILL_IN}))[^\[\]\n]{{3,}}\]|<(?:insert|specify|name|date)[^<>\n]*>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextScope:
    """The spans of a text by what they are for."""

    diagnosis: tuple[Span, ...]
    # Of a template; and what the clinician asked, where a diagnosis follows
    gaps: tuple[Span, ...]

    def concludes(self, place: int) -> bool:
        return _inside(place, self.diagnosis)

    def is_gap(self, place: int) -> bool:
        return _inside(place, self.gaps)


@lru_cache(maxsize=1 << 8)
def scope_of(text: str) -> TextScope:
    """Read the layout of a text."""
    all_sections = sections(text)
    diagnosis, request = (
        [(s.body_start, s.end) for s in all_sections if kind in (s.kind, s.within)]
        for kind in ("diagnosis", "clinical")
    )
    gaps = [gap.span() for gap in _GAP.finditer(text)]
    return TextScope(tuple(diagnosis), tuple(sorted(gaps + (request if diagnosis else []))))


def concluding_text(text: str, scope: TextScope) -> str:
    """Text under the headings of the diagnosis, or all of it, without the gaps."""
    spans = scope.diagnosis or ((0, len(text)),)
    return _GAP.sub(" ", " ".join(text[start:end] for start, end in spans))


def _inside(position: int, spans: Sequence[Span]) -> bool:
    before = bisect_right(spans, position, key=lambda span: span[0])
    return before > 0 and position < spans[before - 1][1]
