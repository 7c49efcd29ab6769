"""Left, right or both: the sides that a text names, with where it names them."""

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from histoeval.terms.lexicon import Lexicon
from histoeval.terms.plain import Word, words_of
from histoeval.terms.sites import find_sites

_WORDS = Lexicon("terms/data/laterality.toml")
# Angles, and what remains
_OTHERWISE = re.compile(
    r"right angle|left (?:in place|behind|over|alone|untreated)"
    r"|\b(?:is|are|was|were|be|been|tissue|nothing|none|tumou?r|carcinoma|material|cells) "
    r"left(?=\s*(?:$|[.;,]|in\b|at\b|after))",
    re.IGNORECASE,
)


class Side(StrEnum):
    LEFT = "left"
    RIGHT = "right"
    BILATERAL = "bilateral"


class SideMention(NamedTuple):
    side: Side
    start: int
    end: int


@lru_cache(maxsize=1 << 12)
def named_sides(text: str) -> tuple[SideMention, ...]:
    """All words that name a side, from left to right; angles and what remains name none."""
    text = _OTHERWISE.sub(lambda m: " " * len(m.group()), text)
    words = words_of(text)
    site_starts = {match.start for match in find_sites(text)}
    return tuple(
        SideMention(side, word.start, word.end)
        for i, word in enumerate(words)
        if (side := _side_at(i, words, site_starts))
    )


def side_of(phrase: str) -> Side | None:
    """The side that a phrase names; left and right together are both sides."""
    sides_named = {mention.side for mention in named_sides(phrase)}
    if len(sides_named) > 1:
        return Side.BILATERAL
    return sides_named.pop() if sides_named else None


def written_sides(text: str) -> list[SideMention]:
    """The words left and right themselves, which can be put for one another."""
    return [
        mention
        for mention in named_sides(text)
        if mention.side != Side.BILATERAL
        and text[mention.start : mention.end].lower() == mention.side
    ]


def _side_at(i: int, words: Sequence[Word], site_starts: set[int]) -> Side | None:
    word = words[i]
    if side := _by_word("words").get(word.plain):
        return side
    before_site = i + 1 < len(words) and words[i + 1].start in site_starts
    if side := _by_word("abbreviated").get(word.plain):
        return side if before_site or word.text.istitle() else None
    return _by_word("before_site").get(word.plain) if before_site else None


def side_words(side: Side) -> frozenset[str]:
    """The words that name a side by themselves, in plain form."""
    return frozenset(
        word
        for kind in ("words", "abbreviated")
        for word, named in _by_word(kind).items()
        if named == side
    )


@cache
def _by_word(kind: str) -> dict[str, Side]:
    return {word: Side(side) for side, words in _WORDS.entry(kind).items() for word in words}
