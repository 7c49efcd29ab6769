"""From files to pairs: what the rest of the package calls to read its input."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.documents.texts import open_folders, open_text_files
from histoeval.io.files import (
    GUESS,
    ONE_TABLE,
    OpenedTable,
    check_there,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.joined import open_joined
from histoeval.io.source import Cells, RowNaming, TableSource, problems_in
from histoeval.io.tables.cell_checks import name_of, text_of
from histoeval.io.tables.columns import Columns, Layout, layout_of, notes_on
from histoeval.io.tables.formats import Record
from histoeval.io.tables.row_faults import Fault
from histoeval.report import Pair

__all__ = ["Columns", "PairRow", "PairSource", "open_source", "source_of_records"]

ACCEPTED = (
    f"{ONE_TABLE}, two and more tables with the same ids, two and more .txt files with one report "
    "per line, or two and more folders of .txt files, the references first"
)

_NO_SYSTEM = Fault("missing_value")


class PairRow(NamedTuple):
    """One pair, or the problems that stand in its place; never both.

    `number` counts the rows of the source from 1. `system` is None where the row is too broken to
    have one. `position` is how many bytes of the source have been read, for progress.
    """

    number: int
    id: str
    system: str | None
    pair: Pair | None
    problems: tuple[Problem, ...]
    position: int = 0

    @property
    def characters(self) -> int:
        """The length of both texts."""
        return 0 if self.pair is None else len(self.pair.reference) + len(self.pair.candidate)


@dataclass(frozen=True)
class PairSource(TableSource[Layout, PairRow]):
    """What was opened, and the pairs in it: of each record, one row per system."""

    def _unreadable(self, record: Record, label: str, problems: tuple[Problem, ...]) -> PairRow:
        return PairRow(record.number, label, None, None, problems, record.position)

    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> list[PairRow]:
        layout = self.layout
        named = None if layout.system is None else name_of(values.get(layout.system), _NO_SYSTEM)
        label, id_fault = naming.name(record, values, named if isinstance(named, str) else "")
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
                continue
            cells: Cells = [
                (layout.id or "id", id_fault),
                (layout.system or "system", system),
                (layout.reference, reference),
                (column, candidate),
            ]
            problems = problems_in(self.table, record, cells)
            known = system if isinstance(system, str) else None
            rows.append(PairRow(record.number, label, known, None, problems, record.position))
        return rows


def open_source(
    paths: Sequence[Path], columns: Columns = GUESS, encoding: str | None = None
) -> PairSource:
    """Open one table, or parallel text files or folders, the references first."""
    for path in paths:
        check_there(path)
    kinds = {format_of(path, ACCEPTED) for path in paths}
    if len(paths) == 1 and not kinds & {"text", "folder"}:
        table = open_table(paths[0], columns, encoding)
        layout = layout_of(table.table, columns, str(paths[0]))
        demand_rows(table.table, layout.columns, paths[0])
        return _understood(table, layout, columns)
    name = ", ".join(path.resolve().name for path in paths)
    if not kinds & {"text", "folder"} and paths:
        records, layout, surveyed = open_joined(paths, columns, encoding)
        kind = kinds.pop() if len(kinds) == 1 else "tables"
        return PairSource(**vars(opened(name, kind, records, surveyed)), layout=layout)
    if len(paths) < 2 or len(kinds) > 1:
        given = " and ".join(path.name or str(path) for path in paths) or "nothing"
        raise InputError(f"{given} cannot be read together. What can be read: {ACCEPTED}")
    if columns != GUESS:
        raise InputError("text files and folders have no columns to name")
    kind = kinds.pop()
    records, layout, surveyed = (open_folders if kind == "folder" else open_text_files)(
        paths, encoding
    )
    return PairSource(**vars(opened(name, kind, records, surveyed)), layout=layout)


def source_of_records(
    records: Iterable[Mapping[str, object]], columns: Columns = GUESS
) -> PairSource:
    """The pairs of records that are in memory, such as the rows of a data frame."""
    table = open_records(records)
    layout = layout_of(table.table, columns, "the list of records")
    return _understood(table, layout, columns)


def _understood(table: OpenedTable, layout: Layout, named: Columns) -> PairSource:
    """The table, with notes on the columns that were guessed."""
    notes = (*table.notes, *notes_on(layout, named, keyed=table.table.keyed))
    return PairSource(**vars(replace(table, notes=notes)), layout=layout)
