"""Normalised text: typos corrected, abbreviations expanded; and the way back to the original.

A reader that knows `lymphovascular invasion` may not know `LVI` or `lymphvascular`. Both reports of
a pair are read as if their authors had written everything out, so that what differs between them is
what they say. Evidence is shown in the words of the report itself.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from histoeval.terms.catalogue import Behaviour, concepts, table
from histoeval.terms.matching import is_cased
from histoeval.terms.naming import arises_in, find_diagnoses
from histoeval.terms.plain import plain, plain_word, words_of
from histoeval.terms.rewriting import RewrittenText
from histoeval.terms.sites import find_sites
from histoeval.terms.spelling import is_known, respelt

_TOKEN = re.compile(
    r"(?<![\w/-])(?<!::)[A-Za-z][A-Za-z0-9]*(?:-[A-Z]+)*(?![\w-]|::|/[a-z\d]|\s?\d|\.\s?\d)"
)
_HYPHENATED = re.compile(r"(?<![\w-])([^\W\d_]{2,})-([^\W\d_]{4,})(?![\w-])")
# First words of a hyphen that are one with what follows for no reader: in situ, wild type
_APART = frozenset({"non", "in", "wild"})
# Abbreviations that mostly stand for a marker, a score or the cause of something named with it
_PART_OF_MORE = frozenset({"CMV", "HSV", "EBV", "HPV", "SLE", "MEST", "SRC"})
_ROMAN = frozenset("IVX")
# What stands before a Roman numeral that is a number: level VI, the sixth part of a report
_COUNTED = re.compile(
    r"(?:\A|[\n\r]|\b(?:levels?|segments?|parts?|specimens?|types?|grades?|stages?|class|category|"
    r"bethesda|zone|and|to)|[-,(/])[ \t]{0,4}\Z",
    re.IGNORECASE,
)
_MAX_CHARS = 20_000  # in longer texts abbreviations of several meanings are left as they are


def normalised(text: str) -> RewrittenText:
    """Correct typos and expand abbreviations."""
    return RewrittenText.of(text, (*_expanded(text), *_corrected(text)))


# --- abbreviations -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Short:
    """Meanings of an abbreviation, each with the words that speak for it."""

    meanings: tuple[tuple[str, tuple[str, ...]], ...]
    only_capitals: bool


@cache
def _abbreviations() -> Mapping[str, _Short]:
    abbreviations = {
        name: _Short(((concept.name, ()),), only_capitals=True)
        for concept in concepts().values()
        if not concept.generic and concept.behaviour != Behaviour.NORMAL
        for name in concept.names
        if len(name) > 2 and is_cased(name) and _TOKEN.fullmatch(name) and name not in _PART_OF_MORE
    }
    for row in table("abbreviations")["abbreviation"]:
        meanings = row.get("expansions") or [row["expansion"]]
        hints = row.get("hints") or [()] * len(meanings)
        paired = tuple(
            (m, tuple(plain(h) for h in some)) for m, some in zip(meanings, hints, strict=True)
        )
        abbreviations[row["short"]] = _Short(paired, row.get("capitals_only", False))
    return abbreviations


def _expanded(text: str) -> Iterator[tuple[int, int, str]]:
    """The abbreviations of a text, where they stand, and what they mean there."""
    words: str | None = None
    for token in _TOKEN.finditer(text):
        written = token.group()
        plural = written.endswith("s") and written not in _abbreviations()
        short = _abbreviations().get(written.removesuffix("s") if plural else written)
        if short is None or (short.only_capitals and _is_uninformative(text, token.start())):
            continue
        if set(written) <= _ROMAN and _COUNTED.search(
            text[max(0, token.start() - 20) : token.start()]
        ):
            continue
        if len(short.meanings) == 1 and not short.meanings[0][1]:
            meaning: str | None = short.meanings[0][0]
        else:
            words = f" {plain(text)} " if words is None else words
            meaning = _meant(short, words, text) if len(text) <= _MAX_CHARS else None
        if meaning is not None:
            yield token.start(), token.end(), meaning + ("s" if plural else "")


def _is_uninformative(text: str, position: int) -> bool:
    """True if capitals tell nothing: the line has only capitals, or a number makes them a unit."""
    if text[:position].rstrip(" \t")[-1:].isdigit():
        return True
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    line = text[start : end if end >= 0 else len(text)]
    return not any(letter.islower() for letter in line)


def _meant(short: _Short, words: str, text: str) -> str | None:
    """The one meaning that most in the report speaks for."""
    organs = _organs(text)
    scores = [
        sum(f" {hint} " in words for hint in hints)
        + any(arises_in(concepts()[match.id], organs) for match in find_diagnoses(meaning))
        for meaning, hints in short.meanings
    ]
    best = max(scores)
    if not best or scores.count(best) > 1:
        return None
    return short.meanings[scores.index(best)][0]


@lru_cache(maxsize=256)
def _organs(text: str) -> frozenset[str]:
    return frozenset(match.id for match in find_sites(text))


# --- typos ---------------------------------------------------------------------------------------


def _corrected(text: str) -> Iterator[tuple[int, int, str]]:
    """Words that are a letter off one that is known, and known words that were hyphenated."""
    for pair in _HYPHENATED.finditer(text):
        joined = plain_word(pair[1] + pair[2])
        if pair[1].lower() not in _APART and is_known(joined):
            yield pair.start(), pair.end(), _cased(joined, pair.group())
    for word in words_of(text):
        if "-" in word.text and not word.text.lower().startswith("non") and is_known(word.plain):
            yield word.start, word.end, _cased(word.plain, word.text)
        elif word.text.isalpha() and (meant := respelt(word.text)) != word.text:
            yield word.start, word.end, _cased(meant, word.text)


def _cased(written: str, like: str) -> str:
    """A word with capitals, and the s of a plural, where another has them."""
    if like.lower().endswith("s") and not written.endswith("s"):
        written += "s"
    if like.isupper():
        return written.upper()
    return written.capitalize() if like[:1].isupper() else written
