"""Word lists of the shipped data files as regular expressions, each compiled once."""

import re
from collections.abc import Iterable
from functools import cached_property
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
        self._before, self._after, self._literal, self._flags = before, after, literal, flags
        self._patterns: dict[tuple[str, ...], re.Pattern[str]] = {}
        self._sets: dict[tuple[str, ...], frozenset[str]] = {}

    @cached_property
    def table(self) -> dict[str, Any]:
        return load_toml(self._place)

    def entry(self, *keys: str) -> Any:
        """Whatever stands under these keys."""
        entry: Any = self.table
        for key in keys:
            entry = entry[key]
        return entry

    def any_of(self, words: str | Iterable[str]) -> re.Pattern[str]:
        """A pattern for words that are not a list of their own, as those of this file are read."""
        return any_of(
            words,
            before=self._before,
            after=self._after,
            literal=self._literal,
            flags=self._flags,
        )

    def pattern(self, *keys: str) -> re.Pattern[str]:
        """A list of the file as a pattern."""
        if (pattern := self._patterns.get(keys)) is None:
            pattern = self._patterns[keys] = self.any_of(self.entry(*keys))
        return pattern

    def has(self, text: str, *keys: str) -> bool:
        """True if a text has one of the words of a list."""
        return self.pattern(*keys).search(text) is not None

    def ids(self, *keys: str) -> frozenset[str]:
        """A list of the file as a set: ids, schemes and other names."""
        if (ids := self._sets.get(keys)) is None:
            ids = self._sets[keys] = frozenset(self.entry(*keys))
        return ids
