"""Lists of words that say what a full stop after or before them means."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


@cache
def _lists() -> dict[str, frozenset[str]]:
    data = tomllib.loads(files(__package__).joinpath("abbreviations.toml").read_text("utf-8"))
    return {name: frozenset(words) for name, words in data.items()}


@cache
def listed(name: str) -> frozenset[str]:
    """The words of one list of the data file."""
    return _lists()[name]
