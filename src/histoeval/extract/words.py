"""Lists of words that say what a full stop after or before them means."""

from __future__ import annotations

from functools import cache

from histoeval.resources import load_toml


@cache
def _lists() -> dict[str, frozenset[str]]:
    data = load_toml("extract/data/abbreviations.toml")
    return {name: frozenset(words) for name, words in data.items()}


@cache
def listed(name: str) -> frozenset[str]:
    """The words of one list of the data file."""
    return _lists()[name]
