"""Records of any table, and checks that a cell is usable as a report or a name.

A problem of a cell or a row is a `Fault`, with a sentence in problems.toml.
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
        defaults = {"where": where, "column": column, "limit": RECORD_LIMIT // 2**20}
        message = entry["text"].format_map(
            {**defaults, "save_as_utf8": save_as_utf8(), **self.details}
        )
        return Problem(code=entry.get("code", self.kind), message=shown(message), column=column)


def save_as_utf8() -> str:
    option = argument("encoding", "latin-1")
    return "save the file as UTF-8" + (
        option and f", or say how it is encoded, for example {option}"
    )


def place(number: int, first_line: int | None = None, last_line: int | None = None) -> str:
    """Describe the position of a row for messages: its number and, if known, its lines."""
    if first_line is None:
        return f"row {number}"
    if last_line is None or last_line == first_line:
        return f"row {number}, line {first_line}"
    return f"row {number}, lines {first_line}-{last_line}"


class RepeatedKeys:
    """Note a key that a JSON object has twice, where Python would keep the last value.

    It is the `object_pairs_hook` of a decoder; `take` returns a fault seen since the last call.
    """

    def __init__(self) -> None:
        self._key: str | None = None

    def __call__(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        content = dict(pairs)
        if len(content) < len(pairs) and self._key is None:
            self._key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        return content

    def take(self) -> Fault | None:
        """Return the fault of the values that were read since the last call."""
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
    """Escape lone surrogates, which cannot be printed or stored."""
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
    """Return a fault if a text is a placeholder such as N/A, or the refusal of a language model."""
    if len(text) > LONGEST_NO_REPORT:
        return None
    placeholders, refusal, addressed = _no_report_patterns()
    plain_text = text.strip(_AROUND).casefold().replace("\u2019", "'")
    if plain_text in placeholders:
        return Fault("placeholder", {"written": text.strip()})
    if refusal.match(plain_text) and all(map(addressed.search, _SENTENCE_END.split(plain_text))):
        return Fault("refusal")
    return None


@cache
def _no_report_patterns() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    lists = load_toml("io/tables/no_report.toml")
    refusals = re.compile("|".join(lists["refusals"]))
    return frozenset(lists["placeholders"]), refusals, re.compile(lists["addressed"])


def name_of(value: object, missing: Fault) -> str | Fault:
    """Return the name in a cell of ids or systems; a number is a name too."""
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
    """Fault of a lone surrogate: half an escaped character, or an undecodable byte."""
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

    A value may itself be a `Fault`, if its reader knows the problem best. `position` is the
    number of bytes of the source read so far, and `key` is the id of the row if it comes from
    outside the row, as from file names in a folder.
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
        """Return the fault, with a lone surrogate named by its origin in this table."""
        if fault.kind == "lone_surrogate":
            return fault._replace(kind=self.half_character)
        return fault


def columns_of(
    records: Iterable[Record], file: str, most: int = ROWS_SHOWING_COLUMNS
) -> tuple[str, ...]:
    """Collect the columns of the first `most` rows, which name them one by one."""
    names: dict[str, None] = {}
    first_problem: Problem | None = None
    good_count = 0
    for record in records:
        first_problem = first_problem or record.problem
        if record.values is not None:
            names |= dict.fromkeys(record.values)
            good_count += 1
        if good_count == most:
            break
    if first_problem is not None and not good_count:
        raise InputError(f"no row of {file} can be read. The first: {first_problem.message}")
    if not good_count:
        raise InputError(f"{file} has no rows")
    return tuple(names)
