"""What is wrong with a row: one sentence per kind, from a file."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from histoeval.callers import argument
from histoeval.errors import Problem
from histoeval.resources import load_toml

RECORD_LIMIT = 32 * 2**20
"""The most characters one row may have; more is a quote left open, or no table at all."""

NOTHING: Mapping[str, object] = MappingProxyType({})


class Fault(NamedTuple):
    """What is wrong with a cell or a row, by the name of its sentence and what goes into it."""

    kind: str
    details: Mapping[str, object] = NOTHING

    def problem(self, where: str, column: str | None = None) -> Problem:
        """The fault as a problem of a place in a file; details may name another place."""
        entry = _sentences()[self.kind]
        usual = {"where": where, "column": column, "limit": RECORD_LIMIT // 2**20}
        message = entry["text"].format_map(
            {**usual, "save_as_utf8": save_as_utf8(), **self.details}
        )
        return Problem(code=entry.get("code", self.kind), message=shown(message), column=column)


def save_as_utf8() -> str:
    """What to do about bytes that cannot be read."""
    way = argument("encoding", "latin-1")
    return "save the file as UTF-8" + (way and f", or say how it is encoded, for example {way}")


def place(number: int, first_line: int | None = None, last_line: int | None = None) -> str:
    """Where a row is, for messages: by its number and, where there are lines, by those."""
    if first_line is None:
        return f"row {number}"
    if last_line is None or last_line == first_line:
        return f"row {number}, line {first_line}"
    return f"row {number}, lines {first_line}-{last_line}"


class RepeatedKeys:
    """Notes a key that an object of JSON has twice, where Python would keep the last value.

    It is the `object_pairs_hook` of a decoder; `take` says what it has seen since it was asked.
    """

    def __init__(self) -> None:
        self._key: str | None = None

    def __call__(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """The object; a key that comes twice is noted."""
        found = dict(pairs)
        if len(found) < len(pairs) and self._key is None:
            self._key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        return found

    def take(self) -> Fault | None:
        """The fault of the values that were read since the last time."""
        key, self._key = self._key, None
        return None if key is None else Fault("repeated_key", {"key": key})


def where_json_breaks(reason: str, position: int) -> str:
    """What Python says of broken JSON, with the place counted from 1."""
    return f"{reason.removesuffix(' at')} at character {position + 1}"


def kind_of(value: object) -> str:
    """What a value is, in plain words."""
    if isinstance(value, bool):
        return "a yes/no value"
    if isinstance(value, int | float):
        return "a number"
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), f"of type {type(value).__name__}")


def shown(text: str) -> str:
    """The text with every lone surrogate, which cannot be printed or stored, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


@cache
def _sentences() -> dict[str, dict[str, str]]:
    return load_toml("io/tables/problems.toml")
