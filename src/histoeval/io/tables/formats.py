"""A table of any format: names of columns, and rows that come one at a time."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.tables.encoding import Survey
from histoeval.io.tables.row_faults import Fault, kind_of, place

ROWS_SHOWING_COLUMNS = 100
"""How many rows are looked at to learn the columns of a file that has no header."""


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


def table_of_records(records: Iterable[Mapping[str, object]]) -> tuple[RecordTable, Survey]:
    """A table of what is in memory already.

    Its hash is of what the records say; of values that JSON does not know, their kind counts.
    """
    rows = list(records)
    read = partial(_read_memory, rows)
    digest = hashlib.sha256()
    for row in rows:
        line = json.dumps(row, default=lambda value: type(value).__name__)
        digest.update(f"{line}\n".encode())
    columns = columns_of(read(()), "the list of records", most=len(rows))
    return RecordTable(columns, read), Survey(0, digest.hexdigest())


def _read_memory(rows: Sequence[object], _needed: Sequence[str]) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Mapping):
            yield Record(number, {str(name): value for name, value in row.items()})
        else:
            problem = Fault("not_an_object", {"kind": kind_of(row)}).problem(place(number))
            yield Record(number, None, problem)
