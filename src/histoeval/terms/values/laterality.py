"""Left, right or both: the side that a phrase names."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from histoeval.terms.plain import Word, words_of
from histoeval.terms.sites import find_sites

_WORDS = (
    dict.fromkeys(("left", "leftward", "lul", "lll"), "left")
    | dict.fromkeys(("right", "rightward", "rul", "rml", "rll"), "right")
    | dict.fromkeys(("bilateral", "bilaterally"), "bilateral")
)
_SHORT = {"l": "left", "lt": "left", "r": "right", "rt": "right", "both": "bilateral"}
"""Sides only where a site follows: R is also a drug's letter, RT also radiotherapy."""
_AS_TYPED = frozenset({"Lt", "Rt"})
_OTHERWISE = re.compile(
    r"right angle|left (?:in place|behind|over|alone|untreated)"
    r"|\b(?:is|are|was|were|be|been|tissue|nothing|none|tumou?r|carcinoma|material|cells) "
    r"left(?=\s*(?:$|[.;,]|in\b|at\b|after))",
    re.IGNORECASE,
)
"""Angles, and what remains."""


class Side(StrEnum):
    """A side of the body, or both."""

    LEFT = "left"
    RIGHT = "right"
    BILATERAL = "bilateral"


@lru_cache(maxsize=1 << 12)
def side_of(phrase: str) -> Side | None:
    """The side that a phrase names; left and right together are both sides."""
    phrase = _OTHERWISE.sub(lambda m: " " * len(m.group()), phrase)
    words = words_of(phrase)
    site_starts = {match.start for match in find_sites(phrase)}
    named = {_side_at(i, words, site_starts) for i in range(len(words))} - {None}
    if len(named) > 1:
        return Side.BILATERAL
    return named.pop() if named else None


def _side_at(i: int, words: Sequence[Word], site_starts: set[int]) -> Side | None:
    """The side that one word names where it stands."""
    word = words[i]
    if word.plain in _WORDS:
        return Side(_WORDS[word.plain])
    before_site = i + 1 < len(words) and words[i + 1].start in site_starts
    if word.plain in _SHORT and (before_site or word.text in _AS_TYPED):
        return Side(_SHORT[word.plain])
    return None
