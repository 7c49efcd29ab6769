"""The words and tables of the rules (`logic.toml`), and what pins them down in a signature."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any


@cache
def _bytes() -> bytes:
    return files(__package__).joinpath("logic.toml").read_bytes()


@cache
def table() -> dict[str, Any]:
    """The whole file."""
    return tomllib.loads(_bytes().decode("utf-8"))


@cache
def version() -> str:
    """Changes when any word of the file does."""
    return sha256(_bytes()).hexdigest()[:12]


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The words of one list of `[words]` as a pattern; beginnings of words, in any case."""
    either = "|".join(re.escape(word) for word in table()["words"][name])
    return re.compile(rf"(?<![^\W_])(?:{either})", re.IGNORECASE)


@cache
def listed(name: str) -> frozenset[str]:
    """One list of `[lists]`: ids of the catalogues of `terms`."""
    return frozenset(table()["lists"][name])
