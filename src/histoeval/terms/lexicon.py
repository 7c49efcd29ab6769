"""Word lists of the shipped data files as regular expressions, each compiled once."""

import re
from collections.abc import Iterable
from functools import partial
from typing import Any

from histoeval.resources import load_toml

WORD_START = r"(?<![^\W_])"  # not inside of a word


def any_of(
    words: str | Iterable[str],
    *,
    before: str = WORD_START,
    after: str = "",
    literal: bool = False,
    flags: int = re.IGNORECASE,
) -> re.Pattern[str]:
    """A pattern for any of these expressions (a list, or one alternation) or `literal` words."""
    if not isinstance(words, str):
        words = "|".join(map(re.escape, words) if literal else words)
    return re.compile(f"{before}(?:{words}){after}", flags)


class Lexicon:
    """A data file of word lists, each asked for by its keys as one pattern."""

    def __init__(
        self,
        place: str,
        *,
        before: str = WORD_START,
        after: str = "",
        literal: bool = False,
        flags: int = re.IGNORECASE,
    ) -> None:
        self._place = place
        # A pattern for words that are not a list of their own, as those of this file are read
        self.any_of = partial(any_of, before=before, after=after, literal=literal, flags=flags)
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._sets: dict[tuple[str, ...], frozenset[str]] = {}

    def entry(self, *keys: str) -> Any:
        entry: Any = load_toml(self._place)
        for key in keys:
            entry = entry[key]
        return entry

    def pattern(self, *keys: str) -> re.Pattern[str]:
        if (pattern := self._patterns.get(keys)) is None:
            pattern = self._patterns[keys] = self.any_of(self.entry(*keys))
        return pattern

    def has(self, text: str, *keys: str) -> bool:
        return self.pattern(*keys).search(text) is not None

    def ids(self, *keys: str) -> frozenset[str]:
        """A list of the file as a set: ids, schemes and other names."""
        if (ids := self._sets.get(keys)) is None:
            ids = self._sets[keys] = frozenset(self.entry(*keys))
        return ids
