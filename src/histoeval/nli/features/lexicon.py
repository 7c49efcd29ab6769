"""Words that change what a statement says (`data/cues.toml`): denial, doubt, contrasts."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from histoeval.resources import load_toml


@cache
def _cues() -> dict[str, Any]:
    return load_toml("nli/features/data/cues.toml")


def _between_words(wording: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![a-z0-9-])(?:{wording})(?![a-z0-9])")


@cache
def _cue(name: str) -> re.Pattern[str]:
    return _between_words("|".join(_cues()[name]))


@cache
def _contrasts() -> tuple[tuple[re.Pattern[str], ...], ...]:
    return tuple(tuple(_between_words(word) for word in row) for row in _cues()["contrasts"])


def members(text: str) -> tuple[frozenset[int], ...]:
    """Which of the words of each contrast a text has."""
    return tuple(
        frozenset(place for place, word in enumerate(row) if word.search(text))
        for row in _contrasts()
    )


def has_cue(name: str, text: str) -> bool:
    """Whether a text in lower case has one of the words of a list."""
    return _cue(name).search(text) is not None
