"""Records of any table, and what makes a cell of them usable as a report or a name.

What is wrong with a cell or a row is a `Fault`, with a sentence in problems.toml.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Real
from types import MappingProxyType
from typing import Literal, NamedTuple

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem
from histoeval.resources import load_toml

# The most characters one row may have; more is a quote left open, or no table at all.
RECORD_LIMIT = 32 * 2**20

# Control characters that no text holds in number; form feeds are common in scanned text.
CONTROLS = bytes({*range(0x20), 0x7F} - set(b"\t\n\v\f\r"))

# Characters of a refusal; a longer one is left to whoever reads the reports.
LONGEST_NO_REPORT = 600

# Marks around a placeholder, as in `#N/A!` and `(none)`.
_AROUND = " \t\r\n.,:;!?#*_~`'\"()[]<>|/\\-\u2013\u2014\u2026"
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

NOTHING: Mapping[str, object] = MappingProxyType({})


class Fault(NamedTuple):
    """A fault of a cell or a row: the name of its sentence in problems.toml, and its values."""

    kind: str
    details: Mapping[str, object] = NOTHING

    def problem(self, where: str, column: str | None = None) -> Problem:
        entry = load_toml("io/tables/problems.toml")[self.kind]
        usual = {"where": where, "column": column, "limit": RECORD_LIMIT // 2**20}
        message = entry["text"].format_map(
            {**usual, "save_as_utf8": save_as_utf8(), **self.details}
        )
        return Problem(code=entry.get("code", self.kind), message=shown(message), column=column)


def save_as_utf8() -> str:
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
        content = dict(pairs)
        if len(content) < len(pairs) and self._key is None:
            self._key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        return content

    def take(self) -> Fault | None:
        """The fault of the values that were read since the last time."""
        key, self._key = self._key, None
        return None if key is None else Fault("repeated_key", {"key": key})


def kind_of(value: object) -> str:
    if isinstance(value, bool):
        return "a yes/no value"
    if isinstance(value, int | float):
        return "a number"
    names = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
    return names.get(type(value), f"of type {type(value).__name__}")


def shown(text: str) -> str:
    """The text with every lone surrogate, which cannot be printed or stored, written out."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def text_of(value: object) -> str | Fault:
    if isinstance(value, Fault):
        return value
    if not isinstance(value, str):
        is_missing = value is None or _is_nan(value)
        return Fault("missing_value") if is_missing else Fault("not_text", {"kind": kind_of(value)})
    try:
        raw = value.encode()
    except UnicodeEncodeError as error:
        return half_character(value, error.start)
    if not value or value.isspace():
        return Fault("empty_text")
    controls = len(raw) - len(raw.translate(None, CONTROLS))
    # A careless scan leaves a few control characters behind, and never a NUL.
    if controls and ("\0" in value or (controls > 2 and controls * 100 > len(value))):
        return Fault("binary_text", {"count": controls})
    return no_report(value) or value


def no_report(text: str) -> Fault | None:
    """Why a text is no report: a placeholder such as N/A, or a language model that refuses."""
    if len(text) > LONGEST_NO_REPORT:
        return None
    placeholders, refusal, addressed = _no_report_patterns()
    plain = text.strip(_AROUND).casefold().replace("\u2019", "'")
    if plain in placeholders:
        return Fault("placeholder", {"written": text.strip()})
    if refusal.match(plain) and all(map(addressed.search, _SENTENCE_END.split(plain))):
        return Fault("refusal")
    return None


@cache
def _no_report_patterns() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    lists = load_toml("io/tables/no_report.toml")
    refusals = re.compile("|".join(lists["refusals"]))
    return frozenset(lists["placeholders"]), refusals, re.compile(lists["addressed"])


def name_of(value: object, missing: Fault) -> str | Fault:
    """The name in a cell of ids or systems; a number is a name too."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            return half_character(value, error.start)
        return missing if not value or value.isspace() else value
    if value is None or _is_nan(value):
        return missing
    if isinstance(value, Real) and not isinstance(value, bool):
        return str(value)
    return Fault("not_a_name", {"kind": kind_of(value)})


def half_character(text: str, start: int) -> Fault:
    """A lone surrogate: half an escaped character, or a byte that could not be decoded."""
    code = ord(text[start])
    details = {"surrogate": code, "byte": code & 0xFF, "position": start + 1}
    return Fault("lone_surrogate", details)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


# --- records ------------------------------------------------------------------------------------

# How many rows are looked at to learn the columns of a file that has no header.
ROWS_SHOWING_COLUMNS = 100


class Record(NamedTuple):
    """One row as it stands in the file: its values by column, or the reason there are none.

    A value may itself be a `Fault`, where the reader knows better than anyone what is wrong
    with it. `position` is how far into the source the reader has come, in bytes, and `key` is
    the id of the row where the file gives it from outside, as a folder does by file names.
    """

    number: int
    values: Mapping[str, object] | None
    problem: Problem | None = None
    line: int | None = None
    position: int = 0
    key: str | None = None

    @property
    def place(self) -> str:
        return place(self.number, self.line)


@dataclass(frozen=True)
class RecordTable:
    """Columns, and a way to read the records from the start, given the columns that are needed.

    `read` is no closure: Ray reads in another process, to which it is sent as a pickle.
    `half_character` says what a lone surrogate in a cell comes from: a byte that could not be
    decoded, or half an escaped character.
    """

    columns: tuple[str, ...]
    read: Callable[[Sequence[str]], Iterator[Record]]
    keyed: bool = False
    half_character: Literal["not_utf8", "lone_surrogate"] = "lone_surrogate"

    def named(self, fault: Fault) -> Fault:
        """The fault, with a lone surrogate called what it is in this table."""
        if fault.kind == "lone_surrogate":
            return fault._replace(kind=self.half_character)
        return fault


def columns_of(
    records: Iterable[Record], file: str, most: int = ROWS_SHOWING_COLUMNS
) -> tuple[str, ...]:
    """The columns of rows that name them one by one: all that the first `most` rows have."""
    names: dict[str, None] = {}
    first: Problem | None = None
    good = 0
    for record in records:
        first = first or record.problem
        if record.values is not None:
            names |= dict.fromkeys(record.values)
            good += 1
        if good == most:
            break
    if first is not None and not good:
        raise InputError(f"no row of {file} can be read. The first: {first.message}")
    if not good:
        raise InputError(f"{file} has no rows")
    return tuple(names)
