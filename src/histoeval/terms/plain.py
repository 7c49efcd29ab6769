"""A phrase without what does not matter: case, number, spelling, hyphens, accents.

Two phrases that a pathologist would take for the same words have the same plain form. It is made
for comparing, not for showing: ``plain("Tumours of the gastro-oesophageal junction")`` is
``"tumor of the gastroesophageal junction"``.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache, lru_cache
from typing import Any, NamedTuple

from rapidfuzz.distance import Indel
from rapidfuzz.process import extract_iter

from histoeval.resources import load_toml

_TOKEN = re.compile(r"[^\W_]+(?:\.\d+)*(?:['\u2018\u2019\u02bc][^\W_]+)?|[+%&]")
_POSSESSIVE = re.compile(r"['\u2018\u2019\u02bc]s$")
_APOSTROPHES = re.compile(r"['\u2018\u2019\u02bc]")
_LIGATURES = {"æ": "ae", "œ": "oe", "ß": "ss", "ø": "o"}
_SHORT = 3  # A word of up to this many letters is never taken for a plural (gas, CNS, AIS)

# The words of phrases up to so many characters are cached; of longer texts, those of the last few,
# unless they are very long
_MAX_CACHED, _LONG = 300, 5_000
# Characters of a phrase in which a value is searched; an entity has some tens of them
MAX_CHARS = 2_000
_DASHES = re.compile(r"[\u2010-\u2015\u2212]")


def normalised(phrase: str) -> str:
    """The beginning of a phrase in NFKC form, with plain hyphens for all dashes."""
    return _DASHES.sub("-", unicodedata.normalize("NFKC", phrase[:MAX_CHARS]))


class Word(NamedTuple):
    text: str
    plain: str
    start: int
    end: int


def _data() -> dict[str, Any]:
    return load_toml("terms/data/spelling.toml")


@cache
def _singulars() -> dict[str, str]:
    """The singular of words that follow no rule; words that only look plural are their own."""
    irregular = {p: word for word, plurals in _data()["irregular"].items() for p in plurals}
    stay = [*_data()["unchanged"]["words"], *_data()["not_plural"]["words"], *_data()["irregular"]]
    return irregular | {word: word for word in stay}


@cache
def _endings() -> tuple[tuple[str, str, frozenset[str]], ...]:
    rows = _data()["singular"]
    return tuple((r["ending"], r["becomes"], frozenset(r.get("exceptions", ()))) for r in rows)


@cache
def _stems() -> tuple[tuple[re.Pattern[str], str, frozenset[str]], ...]:
    shapes = {"anywhere": "{}", "start": "^{}", "end": "{}$"}
    return tuple(
        (
            re.compile(shapes[row["where"]].format(re.escape(row["british"]))),
            row["american"],
            frozenset(row["exceptions"]),
        )
        for row in _data()["stem"]
    )


@cache
def _any_stem() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(row["british"]) for row in _data()["stem"]))


@cache
def _prefixes() -> frozenset[str]:
    return frozenset(american(word) for word in _data()["prefixes"]["words"])


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """The singular of a lower-case word; a word that is none stays as it is."""
    if word in _singulars():
        return _singulars()[word]
    if len(word) <= _SHORT:
        return word
    for ending, becomes, exceptions in _endings():
        if word.endswith(ending) and word not in exceptions:
            return word[: -len(ending)] + becomes
    return word


@lru_cache(maxsize=1 << 16)
def american(word: str) -> str:
    """The American spelling of a lower-case word; one that has no other stays as it is."""
    if word in _data()["british_american"]:
        return str(_data()["british_american"][word])
    if not _any_stem().search(word):
        return word
    for british, ours, exceptions in _stems():
        if word not in exceptions:
            word = british.sub(ours, word)
    return word


@lru_cache(maxsize=1 << 16)
def plain_word(text: str) -> str:
    """One word in plain form: NFKC, no accents, no possessive, lower case, singular, American."""
    letters = text.lower() if text.isascii() else _folded(text)
    word = _APOSTROPHES.sub("", _POSSESSIVE.sub("", letters))
    return american(singular("and" if word == "&" else word)) or text


def _folded(text: str) -> str:
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    letters = "".join(c for c in folded if not unicodedata.combining(c))
    for ligature, written in _LIGATURES.items():
        letters = letters.replace(ligature, written)
    return letters


def words_of(phrase: str) -> list[Word]:
    """The words of a phrase, in order; a prefix written apart (non-, micro ) is one with its word.

    Plus, per cent and ampersand are words of their own; all other punctuation stands between words.
    """
    if len(phrase) > _LONG:
        return _words_of(phrase)
    return list((_cached_words if len(phrase) <= _MAX_CACHED else _cached_texts)(phrase))


def _words_of(phrase: str) -> list[Word]:
    words: list[Word] = []
    prefixes = _prefixes()
    for token in _TOKEN.finditer(phrase):
        text = token.group()
        word = Word(text, plain_word(text), token.start(), token.end())
        if words and words[-1].plain in prefixes and word.plain[0].isalpha():
            prefix = words[-1]
            between = phrase[prefix.end : word.start].strip()
            if between in ("", "-", "\u2010", "\u2011", "\u2013"):
                whole = phrase[words.pop().start : word.end]
                word = Word(whole, prefix.plain + word.plain, prefix.start, word.end)
        words.append(word)
    return words


_cached_words = lru_cache(maxsize=1 << 11)(_words_of)
_cached_texts = lru_cache(maxsize=1 << 6)(_words_of)


def plain(phrase: str) -> str:
    return _cached_plain(phrase) if len(phrase) <= _MAX_CACHED else _plain(phrase)


def _plain(phrase: str) -> str:
    return " ".join(word.plain for word in words_of(phrase))


_cached_plain = lru_cache(maxsize=1 << 14)(_plain)


def closest_word(word: str, words: Sequence[str], cutoff: float) -> str | None:
    """The one of these words that is most alike, if it is alike enough, as difflib measures it.

    difflib's ratio is never above twice the longest common subsequence over both lengths, which
    rapidfuzz computes for all words at once; only the few that pass are compared by difflib.
    """
    able = extract_iter(
        word, words, scorer=Indel.normalized_similarity, processor=None, score_cutoff=cutoff - 1e-9
    )
    near = [candidate for candidate, _, _ in able]
    return next(iter(get_close_matches(word, near, 1, cutoff)), None) if near else None


@lru_cache(maxsize=1 << 20)
def form(name: str) -> str:
    """The plain form of a name; a minus sign at its end counts."""
    minus = " -" if name.rstrip(" )").endswith((" -", "(-")) else ""
    return f"{plain(name)}{minus}"


def is_held_out(concept: str, share: float) -> bool:
    """True if a concept is reserved for testing, by the hash of its id alone."""
    digest = hashlib.sha256(concept.encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64
