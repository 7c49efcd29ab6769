"""The words and tables of the rules, and what pins them down in a signature.

`logic.toml` has the words of most rules; tables that are long have files of their own in `data`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from typing import Any

from histoeval.resources import resource_bytes

_FILES = {
    "logic": "trust/logic/data/logic.toml",
    "stated_grades": "trust/logic/data/grade.toml",
    "kinds": "trust/logic/data/diagnosis.toml",
    "appearances": "trust/logic/data/appearance.toml",
    "habitats": "trust/logic/data/organ.toml",
}


@cache
def _bytes(name: str) -> bytes:
    return resource_bytes(_FILES[name])


@cache
def table(name: str = "logic") -> dict[str, Any]:
    """One whole file."""
    return tomllib.loads(_bytes(name).decode("utf-8"))


@cache
def version() -> str:
    """Changes when any word of the files does."""
    return sha256(b"".join(_bytes(name) for name in _FILES)).hexdigest()[:12]


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The words of one list of `[words]` as a pattern; beginnings of words, in any case."""
    return begins(table()["words"][name])


def begins(words: Iterable[str]) -> re.Pattern[str]:
    """A pattern for words that begin with one of these, in any case."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})", re.IGNORECASE)


def written_as(expressions: Iterable[str]) -> re.Pattern[str]:
    """A pattern for any of these regular expressions, from the beginning of a word, in any case."""
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(expressions)})", re.IGNORECASE)


@cache
def listed(name: str) -> frozenset[str]:
    """One list of `[lists]`: ids of the catalogues of `terms`."""
    return frozenset(table()["lists"][name])
