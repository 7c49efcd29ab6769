"""Finding known names in a phrase, word by word, the longest first."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from histoeval.terms.plain import Word, words_of

# An abbreviation: one word of capitals, or with two of them (IDC, B-ALL, pCR)
_CASED = re.compile(r"(?=.*[A-Z])[A-Z0-9]+(?:-[A-Z0-9]+)*|(?=(?:.*[A-Z]){2})[A-Za-z0-9]+")
# An abbreviation that no ordinary word can be taken for, in whatever case it is typed (CIN3)
_WITH_DIGIT = re.compile(r"(?=.*\d).{3,}")
_SMALL_LETTER = re.compile("[a-z]")
_STOP = re.compile(r"[;!?]|\.(?=\s)|:(?=\s)")
_MAX_WORDS_IN_CAPITALS = 3
_MAX_CACHED = 1_000  # phrases of more characters are not cached
_END = ""
_Trie = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """A name found in a phrase: where it stands there, and whose name it is."""

    start: int
    end: int
    id: str


def is_cased(name: str) -> bool:
    """True if a name must stand as it is written, capitals included, because MM is not mm."""
    return bool(_CASED.fullmatch(name)) and not _WITH_DIGIT.fullmatch(name)


def in_capitals(phrase: str, words: Sequence[Word]) -> bool:
    """True if a phrase is typed in capitals, so that they say nothing (ALL MARGINS ARE FREE)."""
    if len(words) <= _MAX_WORDS_IN_CAPITALS or _SMALL_LETTER.search(phrase):
        return False
    return phrase.isascii() or not any(c.islower() for c in phrase)


class NameMatcher:
    """Names, each with the id of what it names, to be found in phrases.

    Words are compared in plain form, so that hyphens, commas, slashes, number and spelling do not
    matter. Abbreviations must be typed as they are here (a plural s may follow), and are not
    looked for in a phrase that is typed in capitals throughout.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self._plain: _Trie = {}
        self._cased: _Trie = {}
        self._cached = lru_cache(maxsize=1 << 10)(self._find)
        self.learn(names)

    def learn(self, names: Mapping[str, str]) -> None:
        for name, id_ in names.items():
            words = words_of(name)
            if not words:
                raise ValueError(f"a name of {id_} has no word: {name!r}")
            cased = is_cased(name)
            node = self._cased if cased else self._plain
            for word in words:
                node = node.setdefault(word.text if cased else word.plain, {})
            if node.setdefault(_END, id_) != id_:
                raise ValueError(f"{name!r} names both {node[_END]} and {id_}")
        self._cached.cache_clear()

    def find(self, phrase: str) -> tuple[NameMatch, ...]:
        """All names in a phrase, from left to right; where two overlap, the longer one."""
        return self._cached(phrase) if len(phrase) <= _MAX_CACHED else self._find(phrase)

    def exact(self, phrase: str) -> str | None:
        """The id that the whole phrase is a name of, if it is one."""
        statement = _Statement(phrase)
        whole = [id_ for end, id_ in self._from(0, statement) if end == len(statement.words)]
        return whole[0] if whole else None

    def _find(self, phrase: str) -> tuple[NameMatch, ...]:
        statement = _read(phrase) if len(phrase) <= _MAX_CACHED else _Statement(phrase)
        words = statement.words
        names = [
            (start, end, id_)
            for start in self._starts(statement)
            for end, id_ in self._from(start, statement)
        ]
        if not names:
            return ()
        taken = [False] * len(words)
        matches: list[NameMatch] = []
        for start, end, id_ in sorted(names, key=lambda name: (name[0] - name[1], name[0])):
            if not any(taken[start:end]):
                taken[start:end] = [True] * (end - start)
                matches.append(NameMatch(words[start].start, words[end - 1].end, id_))
        return tuple(sorted(matches, key=lambda m: m.start))

    def _starts(self, statement: _Statement) -> list[int]:
        plain, cased = self._plain, self._cased
        if not statement.cased:
            return [i for i, word in enumerate(statement.plain) if word in plain]
        both = enumerate(zip(statement.plain, statement.cased, strict=True))
        return [i for i, (word, text) in both if word in plain or text in cased]

    def _from(self, start: int, statement: _Statement) -> Iterator[tuple[int, str]]:
        if statement.cased:
            yield from _walk(self._cased, statement.cased, statement.stops, start)
        yield from _walk(self._plain, statement.plain, statement.stops, start)


class _Statement:
    """A phrase made ready: its words in both forms, and where a stop stands before a word."""

    def __init__(self, phrase: str) -> None:
        self.words = words = words_of(phrase)
        self.plain = [word.plain for word in words]
        trusted = not in_capitals(phrase, words)
        texts = [word.text for word in words] if trusted else []
        # An abbreviation may have a plural s (NETs)
        self.cased = [
            text[:-1] if len(text) > 2 and text[-1] == "s" and text[:-1].isupper() else text
            for text in texts
        ]
        self.stops = [False] + [_stop_between(phrase, a, b) for a, b in pairwise(words)]


# Phrases made ready: one is searched for names of many kinds
_read = lru_cache(maxsize=1 << 8)(_Statement)


def _stop_between(phrase: str, before: Word, after: Word) -> bool:
    """True if a statement ends between two words; the point of an initial is no end (H. pylori)."""
    gap = phrase[before.end : after.start]
    if gap in (" ", "-", ", "):
        return False
    stop = _STOP.search(gap)
    return stop is not None and not (stop.group() == "." and before.end - before.start == 1)


def _walk(
    trie: _Trie, words: Sequence[str], stops: Sequence[bool], start: int
) -> Iterator[tuple[int, str]]:
    node: _Trie = trie
    for i in range(start, len(words)):
        if words[i] not in node or (i > start and stops[i]):
            return
        node = node[words[i]]
        if _END in node:
            yield i + 1, node[_END]
