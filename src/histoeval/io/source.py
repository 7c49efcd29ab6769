"""From the records of a table to rows: what pairs, texts and cases have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from histoeval.errors import Problem
from histoeval.io.files import OpenedTable
from histoeval.io.tables.cell_checks import name_of
from histoeval.io.tables.columns import TableLayout
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault

Cells = Sequence[tuple[str, str | Fault | None]]

_NO_ID = Fault("missing_id")


L = TypeVar("L", bound=TableLayout)
Row = TypeVar("Row")


@dataclass(frozen=True)
class TableSource(OpenedTable, ABC, Generic[L, Row]):
    """A table that was opened and understood: its rows, as often as one likes."""

    layout: L = field(repr=False)

    def identity(self) -> dict[str, Any]:
        """What makes two inputs the same."""
        return {
            "input": self.name,
            "sha256": self.sha256,
            "encoding": self.encoding,
            "columns": self.layout.model_dump(mode="json"),
        }

    def rows(self) -> Iterator[Row]:
        """Every row, from the start, however often it is called."""
        naming = RowNaming(self.layout.id)
        for record in self.table.read(self.layout.columns):
            if record.values is None:
                assert record.problem is not None, "a record has values or a problem"
                yield self._unreadable(record, naming.label(record), (record.problem,))
            else:
                yield from self._readable(record, record.values, naming)

    @abstractmethod
    def _unreadable(self, record: Record, label: str, problems: tuple[Problem, ...]) -> Row:
        """The row of a record that cannot be read at all."""

    @abstractmethod
    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> Iterable[Row]:
        """The rows of a record, good or broken."""


class SeenNames:
    """The names that have come by with their rows, as 64-bit hashes in sorted buckets.

    That is twenty bytes for each. Two names share a hash in about one of a hundred thousand files
    of ten million rows.
    """

    def __init__(self) -> None:
        self._buckets = [(array("q"), array("q")) for _ in range(0x1000)]

    def first(self, name: str, row: int) -> int:
        """Take the name of a row in; the number of the first row that has it."""
        key = hash(name)
        keys, rows = self._buckets[key & 0xFFF]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            return rows[place]
        keys.insert(place, key)
        rows.insert(place, row)
        return row


class RowNaming:
    """What the rows of a table are called: by a column, by a key, or by their place."""

    def __init__(self, column: str | None) -> None:
        self._column = column
        self._seen = SeenNames()

    def name(
        self, record: Record, values: Mapping[str, object], group: str = ""
    ) -> tuple[str, Fault | None]:
        """What the row is called, and what is wrong with that; in each group a name comes once."""
        if self._column is None and record.key is None:
            return str(record.number - 1), None
        name = (
            self._outer(record)
            if self._column is None
            else name_of(values.get(self._column), _NO_ID)
        )
        if isinstance(name, Fault):
            return f"row {record.number}", name
        first = self._seen.first(f"{name}\0{group}", record.number)
        if first == record.number:
            return name, None
        return name, Fault("duplicate_id", {"id": name, "earlier": f"row {first}"})

    def label(self, record: Record) -> str:
        """What to call a row that cannot be read at all."""
        known = self._outer(record)
        return known if isinstance(known, str) else f"row {record.number}"

    def _outer(self, record: Record) -> str | Fault:
        """The id that a row has by where it stands: a key, or its place counted from 0."""
        if self._column is not None:
            return _NO_ID
        return name_of(record.key, _NO_ID) if record.key is not None else str(record.number - 1)


def problems_in(table: RecordTable, record: Record, cells: Cells) -> tuple[Problem, ...]:
    """Everything that is wrong with the cells of a row."""
    return tuple(
        table.named(cell).problem(record.place, column)
        for column, cell in cells
        if isinstance(cell, Fault)
    )
