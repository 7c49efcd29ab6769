"""Typos: an unknown word that is one letter off a known one."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache

from rapidfuzz.distance import OSA

from histoeval.terms.catalogue import concepts, table
from histoeval.terms.findings import findings
from histoeval.terms.plain import plain_word, words_of
from histoeval.terms.sites import sites

_LEAST = 7  # shorter words are too easily taken for one another
_WORD = re.compile(rf"[^\W\d_]{{{_LEAST},}}")
_VOWELS = frozenset("aeiouy")
_PREFIX = 3  # letters in which a vowel makes another word: macro- and micro-
# From this length on a word with two letters in each other's place is told from all others
_LONG = 10
_LAST = 2  # letters at the end by which one of two words that could be meant is chosen
_MORE = (
    "differentiated moderately poorly undifferentiated grade nuclear histologic histological "
    "positive negative infiltrating lymphovascular perineural station stations"
).split()


@lru_cache(maxsize=1 << 14)
def respelt(phrase: str) -> str:
    """The phrase with typos of one letter corrected, in words of the catalogues."""
    return _WORD.sub(lambda match: _meant(match.group()), phrase)


def is_known(word: str) -> bool:
    return word in _known()


@lru_cache(maxsize=1 << 14)
def _meant(word: str) -> str:
    """The one known word that is a letter off, or the word itself."""
    if plain_word(word) in _known():
        return word
    near = list(dict.fromkeys([*_near(plain_word(word)), *_near(word.lower())]))
    if len(near) > 1:
        near = [candidate for candidate in near if candidate[-_LAST:] == word.lower()[-_LAST:]]
    near = near or _exchanged(plain_word(word))
    return near[0] if len(near) == 1 else word


def _near(plain: str) -> list[str]:
    return [
        neighbour
        for length in (len(plain) - 1, len(plain), len(plain) + 1)
        for neighbour in _by_length().get(length, ())
        if neighbour[0] == plain[0]
        and OSA.distance(plain, neighbour, score_cutoff=1) == 1
        and _is_typo(plain, neighbour)
    ]


def _exchanged(plain: str) -> list[str]:
    """The known words that a long word is, but for two letters in each other's place."""
    if len(plain) < _LONG:
        return []
    return [
        neighbour
        for neighbour in _by_length().get(len(plain), ())
        if neighbour[0] == plain[0]
        and sorted(neighbour) == sorted(plain)
        and OSA.distance(plain, neighbour, score_cutoff=2) == 2
    ]


def _is_typo(word: str, meant: str) -> bool:
    """True if two words that are a letter apart are one word; `sampled` and `sample` are two.

    So are those that differ in nothing but their last letter, unless that was doubled, or in one
    vowel of their beginning (macro- and micro-).
    """
    if word[:-1] == meant and word[-1] == word[-2]:
        return True
    if word[:-1] in (meant[:-1], meant) or meant[:-1] == word:
        return False
    apart = [i for i, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b]
    one_letter = len(word) == len(meant) and len(apart) == 1
    if not one_letter or apart[0] >= _PREFIX:
        return True
    return not {word[apart[0]], meant[apart[0]]} <= _VOWELS


@cache
def _known() -> frozenset[str]:
    names = [
        *(name for concept in concepts().values() for name in concept.names),
        *(name for site in sites().values() for name in site.names),
        *(name for finding in findings().values() for name in finding.names),
    ]
    words = {word.plain for name in names for word in words_of(name)}
    # Ordinary words that are a letter off one of the catalogues
    ordinary = table("spelling")["ordinary"]["words"]
    return frozenset(words | {plain_word(word) for word in (*_MORE, *ordinary)})


@cache
def _by_length() -> Mapping[int, tuple[str, ...]]:
    lengths: dict[int, list[str]] = {}
    for word in sorted(_known()):
        if len(word) >= _LEAST - 1:
            lengths.setdefault(len(word), []).append(word)
    return {length: tuple(words) for length, words in lengths.items()}
