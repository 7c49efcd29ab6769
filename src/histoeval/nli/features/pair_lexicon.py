"""Words that part or join the two texts of a pair (`data/pairs.toml`)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from histoeval.resources import load_toml


@cache
def pair_words() -> dict[str, Any]:
    """All lists of words."""
    return load_toml("nli/features/data/pairs.toml")


@cache
def pair_pattern(group: str, name: str) -> re.Pattern[str]:
    """One list of words, as whole words."""
    return re.compile(rf"(?<![a-z0-9-])(?:{pair_words()[group][name]})(?![a-z0-9])")


def has_word(group: str, name: str, low: str) -> bool:
    """Whether a text in lower case has a word of a list."""
    return pair_pattern(group, name).search(low) is not None


@cache
def scene_rows() -> tuple[tuple[str, re.Pattern[str], re.Pattern[str]], ...]:
    """Means and times of looking, two in a row that are not the same."""
    return tuple(
        (name, *(re.compile(rf"(?<![a-z0-9-])(?:{words})(?![a-z0-9])") for words in row))
        for name, row in pair_words()["scenes"].items()
    )
