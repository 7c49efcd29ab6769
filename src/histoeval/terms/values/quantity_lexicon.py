"""The words by which quantities are read and told apart (`data/quantities.toml`)."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from histoeval.resources import load_toml


@cache
def quantity_words() -> dict[str, Any]:
    """All lists of words."""
    return load_toml("terms/data/quantities.toml")


@cache
def wording(group: str, name: str) -> re.Pattern[str]:
    """One list of words, as whole words."""
    return re.compile(rf"(?<![a-z0-9])(?:{quantity_words()[group][name]})(?![a-z])")


@cache
def ending(name: str) -> re.Pattern[str]:
    """Words that bound what follows them."""
    return re.compile(rf"(?<![a-z0-9])(?:{quantity_words()['bounds'][name]})(?: the)?\W*$")


@cache
def subjects(kind: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Of what a quantity of a kind may be told."""
    rows = quantity_words()["subjects"].get(kind, ())
    return tuple((name, re.compile(rf"(?<![a-z0-9])(?:{words})")) for name, words in rows)


def named(group: str, text: str) -> frozenset[str]:
    """Which lists of a group a text has a word of."""
    return frozenset(name for name in quantity_words()[group] if wording(group, name).search(text))
