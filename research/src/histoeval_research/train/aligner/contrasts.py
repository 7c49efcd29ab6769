"""Words that turn a phrase into something clinically different, swapped for one another.

`data/contrasts.toml` says which, and where: whole words, the longest first, never where both stand
in one phrase. Codes (pT1, CD3, ER) are compared as written, other words without regard to case.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from histoeval.resources import load_toml

_TOKEN = re.compile(r"[^\s\-,;:()\[\]]+")

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contrast:
    """From some words to those that mean something else there."""

    words: Words
    other: str
    axis: str
    only_with: tuple[str, ...] = ()
    not_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Swap:
    """A phrase in which words were swapped; `key` is the same for synonyms that had the same."""

    phrase: str
    key: str
    axis: str


def contrast_table() -> dict[str, Any]:
    """What `contrasts.toml` holds."""
    return load_toml("histoeval_research/train/aligner/data/contrasts.toml")


class Contrasts:
    """Swaps words in phrases, by a table of pairs."""

    def __init__(self, table: Mapping[str, Any], *, only_unseen: bool = False) -> None:
        self._by_words: dict[Words, list[Contrast]] = {}
        for rule in table["contrast"]:
            if not (only_unseen and rule["in_test"]):
                for contrast in _directions(rule):
                    self._by_words.setdefault(contrast.words, []).append(contrast)
        self._longest = max(map(len, self._by_words), default=0)

    def of(self, phrase: str) -> list[Swap]:
        """What a phrase becomes by swapping one of its terms, in all places where it stands."""
        tokens = [*_TOKEN.finditer(phrase)]
        keys = [_key(token[0]) for token in tokens]
        places: dict[Words, list[int]] = {}
        for start, words in self._found(keys):
            places.setdefault(words, []).append(start)
        return [
            Swap(_replaced(phrase, tokens, starts, contrast), _name(contrast), contrast.axis)
            for words, starts in places.items()
            for contrast in self._by_words[words]
            if _applies(contrast, keys, starts)
        ]

    def _found(self, keys: Sequence[str]) -> Iterator[tuple[int, Words]]:
        """Terms that stand in a phrase, the longest at each place."""
        start = 0
        while start < len(keys):
            for length in range(min(self._longest, len(keys) - start), 0, -1):
                words = tuple(keys[start : start + length])
                if words in self._by_words:
                    yield start, words
                    start += length
                    break
            else:
                start += 1


def _directions(rule: Mapping[str, Any]) -> Iterator[Contrast]:
    where = {
        "only_with": tuple(word.lower() for word in rule.get("only_with", ())),
        "not_after": tuple(word.lower() for word in rule.get("not_after", ())),
    }
    for one, other in rule["words"]:
        yield Contrast(_words(one), other, rule["axis"], **where)
        yield Contrast(_words(other), one, rule["axis"], **where)


def _words(text: str) -> Words:
    return tuple(_key(token) for token in _TOKEN.findall(text))


def _key(token: str) -> str:
    """A code as it is written, another word in lower case."""
    letters = [letter for letter in token if letter.isalpha()]
    if not letters or not any(map(str.isupper, letters)):
        return token.lower()
    is_code = any(map(str.isupper, token[1:])) or len(letters) == 1
    return token if is_code or any(map(str.isdigit, token)) else token.lower()


def _name(contrast: Contrast) -> str:
    return f"{' '.join(contrast.words)}>{' '.join(_words(contrast.other))}"


def _applies(contrast: Contrast, keys: Sequence[str], starts: Sequence[int]) -> bool:
    length = len(contrast.words)
    if any(start and keys[start - 1].lower() in contrast.not_after for start in starts):
        return False
    swapped = {start + step for start in starts for step in range(length)}
    rest = ["" if place in swapped else key for place, key in enumerate(keys)]
    if contrast.only_with and not any(key.lower().startswith(contrast.only_with) for key in rest):
        return False
    other = _words(contrast.other)
    return not any(tuple(rest[place : place + len(other)]) == other for place in range(len(rest)))


def _replaced(
    phrase: str, tokens: Sequence[re.Match[str]], starts: Sequence[int], contrast: Contrast
) -> str:
    for start in reversed(starts):
        first, last = tokens[start].start(), tokens[start + len(contrast.words) - 1].end()
        phrase = f"{phrase[:first]}{contrast.other}{phrase[last:]}"
    return phrase
