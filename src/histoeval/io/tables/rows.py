"""From the records of a table to rows: each a pair, or the reasons why there is none."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from histoeval.errors import Problem
from histoeval.io.tables.cell_checks import name_of, text_of
from histoeval.io.tables.columns import Layout
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault
from histoeval.report import Pair

Cells = Sequence[tuple[str, str | Fault | None]]

_NO_ID = Fault("missing_id")
_NO_SYSTEM = Fault("missing_value")


class PairRow(NamedTuple):
    """One pair, or the problems that stand in its place; never both.

    `number` counts the rows of the source from 1, for people. `system` is None where the row is
    too broken to have one. `position` is how many bytes of the source have been read, for
    progress.
    """

    number: int
    id: str
    system: str | None
    pair: Pair | None
    problems: tuple[Problem, ...]
    position: int = 0


class SeenNames:
    """The names that have come by, as 64-bit hashes in sorted buckets: ten bytes for each.

    Two names share a hash in about one of a hundred thousand files of ten million rows.
    """

    def __init__(self) -> None:
        self._buckets = [array("q") for _ in range(0x1000)]

    def add(self, name: str) -> bool:
        """Take a name in; whether it is new."""
        key = hash(name)
        bucket = self._buckets[key & 0xFFF]
        place = bisect_left(bucket, key)
        if place < len(bucket) and bucket[place] == key:
            return False
        bucket.insert(place, key)
        return True


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
        if self._seen.add(f"{name}\0{group}"):
            return name, None
        return name, Fault("duplicate_id", {"id": name})

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
        table.said(cell).problem(record.place, column)
        for column, cell in cells
        if isinstance(cell, Fault)
    )


class RowReader:
    """Reads a table once, row by row, remembering which ids were used."""

    def __init__(self, table: RecordTable, layout: Layout) -> None:
        self._table = table
        self._layout = layout
        self._naming = RowNaming(layout.id)

    def rows(self) -> Iterator[PairRow]:
        """Every record as one row per system; one that cannot be read at all, as one row."""
        for record in self._table.read(self._layout.columns):
            if record.values is None:
                yield self._unreadable(record)
            else:
                yield from self._readable(record, record.values)

    def _unreadable(self, record: Record) -> PairRow:
        assert record.problem is not None, "a record has values or a problem"
        label = self._naming.label(record)
        return PairRow(record.number, label, None, None, (record.problem,), record.position)

    def _readable(self, record: Record, values: Mapping[str, object]) -> list[PairRow]:
        layout = self._layout
        named = None if layout.system is None else name_of(values.get(layout.system), _NO_SYSTEM)
        label, id_fault = self._naming.name(record, values, named if isinstance(named, str) else "")
        reference = text_of(values.get(layout.reference))
        rows = []
        for column in layout.candidates:
            candidate = text_of(values.get(column))
            system = column if named is None else named
            if (
                id_fault is None
                and isinstance(system, str)
                and isinstance(reference, str)
                and isinstance(candidate, str)
            ):
                pair = Pair(id=label, reference=reference, candidate=candidate, system=system)
                rows.append(PairRow(record.number, label, system, pair, (), record.position))
            else:
                cells = [
                    (layout.id or "id", id_fault),
                    (layout.system or "system", system),
                    (layout.reference, reference),
                    (column, candidate),
                ]
                rows.append(self._broken(record, label, system, cells))
        return rows

    def _broken(self, record: Record, label: str, system: str | Fault, cells: Cells) -> PairRow:
        """A row with everything that is wrong with it."""
        problems = problems_in(self._table, record, cells)
        known = system if isinstance(system, str) else None
        return PairRow(record.number, label, known, None, problems, record.position)
