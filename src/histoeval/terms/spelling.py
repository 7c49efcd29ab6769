"""Slips of the pen: a word that nobody knows and that is one letter off one that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from rapidfuzz.distance import OSA

from histoeval.terms.concepts import concepts
from histoeval.terms.findings import findings
from histoeval.terms.plain import plain_word, words_of
from histoeval.terms.sites import sites

_LEAST = 7
"""Shorter words are too easily taken for one another."""
_WORD = re.compile(rf"[^\W\d_]{{{_LEAST},}}")
_MORE = (
    "differentiated moderately poorly undifferentiated grade nuclear histologic histological "
    "positive negative infiltrating lymphovascular perineural"
).split()


@lru_cache(maxsize=1 << 14)
def respelt(phrase: str) -> str:
    """The phrase with slips of one letter put right, in words of the catalogues."""
    return _WORD.sub(lambda found: _meant(found.group()), phrase)


@lru_cache(maxsize=1 << 14)
def _meant(word: str) -> str:
    """The one known word that is a letter off, or the word itself."""
    plain = plain_word(word)
    if plain in _known():
        return word
    near = [
        other
        for length in (len(plain) - 1, len(plain), len(plain) + 1)
        for other in _by_length().get(length, ())
        if other[0] == plain[0] and OSA.distance(plain, other, score_cutoff=1) == 1
    ]
    return near[0] if len(near) == 1 else word


@cache
def _known() -> frozenset[str]:
    names = [
        *(name for concept in concepts().values() for name in concept.names),
        *(name for site in sites().values() for name in site.names),
        *(name for finding in findings().values() for name in finding.names),
    ]
    words = {word.plain for name in names for word in words_of(name)}
    return frozenset(words | {plain_word(word) for word in _MORE})


@cache
def _by_length() -> Mapping[int, tuple[str, ...]]:
    lengths: dict[int, list[str]] = {}
    for word in sorted(_known()):
        if len(word) >= _LEAST - 1:
            lengths.setdefault(len(word), []).append(word)
    return {length: tuple(words) for length, words in lengths.items()}
