"""From files to pairs: what the rest of the package calls to read its input."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.files import (
    ONE_TABLE,
    OpenedFiles,
    check_there,
    demand_rows,
    format_of,
    open_table,
)
from histoeval.io.tables.columns import Columns, Layout, layout_of
from histoeval.io.tables.encoding import Survey
from histoeval.io.tables.formats import RecordTable, table_of_records
from histoeval.io.tables.rows import PairRow, RowReader
from histoeval.io.texts import open_folders, open_text_files

__all__ = ["Columns", "PairRow", "PairSource", "open_source", "source_of_records"]

GUESS = Columns()
"""No column was named."""

ACCEPTED = (
    f"{ONE_TABLE}, or two and more .txt files with one report per line, or two and more folders of "
    ".txt files, the references first"
)


@dataclass(frozen=True)
class PairSource(OpenedFiles):
    """What was opened, and the pairs in it.

    `systems` is empty where a column names the system of each row.
    """

    systems: tuple[str, ...]
    layout: Layout = field(repr=False)

    def rows(self) -> Iterator[PairRow]:
        """Every row, from the start, however often it is called."""
        return RowReader(self.table, self.layout).rows()


def open_source(
    paths: Sequence[Path], columns: Columns = GUESS, encoding: str | None = None
) -> PairSource:
    """Open one table, or parallel text files or folders, the references first."""
    for path in paths:
        check_there(path)
    kinds = {format_of(path, ACCEPTED) for path in paths}
    if len(paths) == 1 and not kinds & {"text", "folder"}:
        return _open_table(paths[0], columns, encoding)
    if len(paths) < 2 or len(kinds) > 1 or not kinds & {"text", "folder"}:
        given = " and ".join(path.name or str(path) for path in paths) or "nothing"
        raise InputError(f"{given} cannot be read together. What can be read: {ACCEPTED}")
    if columns != GUESS:
        raise InputError("text files and folders have no columns to name")
    kind = kinds.pop()
    opened = open_folders if kind == "folder" else open_text_files
    table, layout, surveyed = opened(paths, encoding)
    name = ", ".join(path.resolve().name for path in paths)
    return _source(name, kind, surveyed, table, layout)


def source_of_records(
    records: Iterable[Mapping[str, object]], columns: Columns = GUESS
) -> PairSource:
    """The pairs of records that are in memory, such as the rows of a data frame."""
    table, surveyed = table_of_records(records)
    layout = _settled(table, columns, "the list of records")
    return _source("records", "memory", surveyed, table, layout)


def _open_table(path: Path, columns: Columns, encoding: str | None) -> PairSource:
    kind = format_of(path, ACCEPTED)
    table, surveyed = open_table(path, kind, columns, encoding)
    layout = _settled(table, columns, str(path))
    demand_rows(table, layout.columns, path)
    return _source(path.name, kind, surveyed, table, layout)


def _settled(table: RecordTable, columns: Columns, file: str) -> Layout:
    """The layout of a table; rows that bring their id with them need no column for it."""
    layout = layout_of(table.columns, columns, file)
    if table.keyed and columns.id is None:
        return layout.model_copy(update={"id": None})
    return layout


def _source(
    name: str, kind: str, surveyed: Survey, table: RecordTable, layout: Layout
) -> PairSource:
    return PairSource(
        name=name,
        format=kind,
        encoding=surveyed.encoding,
        sha256=surveyed.sha256,
        notes=surveyed.notes,
        systems=layout.candidates if layout.system is None else (),
        size=surveyed.size,
        table=table,
        layout=layout,
    )
