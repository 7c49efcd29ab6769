"""Names of entity types, as people and models write them, in our types."""

import re
from collections.abc import Mapping
from functools import cache

from histoeval.resources import load_toml

OUTSIDE = ("o", "outside", "none", "")
"""Names of a label that means nothing here."""


def plain(name: str) -> str:
    """A name by its letters and digits only."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def given_names(names: Mapping[str, str | None] | None) -> dict[str, str]:
    """The meanings that were given for labels, by plain name."""
    return {plain(name): (meaning or "").lower() for name, meaning in (names or {}).items()}


@cache
def known_names() -> dict[str, str]:
    """The types that names stand for, by plain name."""
    table = load_toml("labels.toml")
    return {name: meaning for meaning, names in table.items() for name in names}
