"""From files to single reports: what the package calls to read texts that have no partner."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.files import (
    ONE_TABLE,
    OpenedFiles,
    check_there,
    demand_rows,
    format_of,
    open_table,
)
from histoeval.io.tables.cell_checks import text_of
from histoeval.io.tables.columns import Columns, TextLayout, text_layout_of
from histoeval.io.tables.encoding import Survey
from histoeval.io.tables.formats import Record, RecordTable, table_of_records
from histoeval.io.tables.rows import RowNaming, problems_in
from histoeval.io.texts import table_of_folders, table_of_lines

TEXT = "text"
"""What the only column of text files and folders is called."""

ACCEPTED = f"{ONE_TABLE}, a .txt file with one report per line, or a folder of .txt files"


class TextRow(NamedTuple):
    """One text, or the problems that stand in its place; never both.

    `number` counts the rows of the source from 1, for people. `position` is how many bytes of the
    source have been read, for progress.
    """

    number: int
    id: str
    text: str | None
    problems: tuple[Problem, ...]
    position: int = 0


@dataclass(frozen=True)
class TextSource(OpenedFiles):
    """What was opened, and the texts in it."""

    layout: TextLayout = field(repr=False)

    def rows(self) -> Iterator[TextRow]:
        """Every row, from the start, however often it is called."""
        naming = RowNaming(self.layout.id)
        for record in self.table.read(self.layout.columns):
            if record.values is None:
                assert record.problem is not None, "a record has values or a problem"
                label = naming.label(record)
                yield TextRow(record.number, label, None, (record.problem,), record.position)
            else:
                yield self._row(record, record.values, naming)

    def _row(self, record: Record, values: Mapping[str, object], naming: RowNaming) -> TextRow:
        label, id_fault = naming.name(record, values)
        text = text_of(values.get(self.layout.text))
        if id_fault is None and isinstance(text, str):
            return TextRow(record.number, label, text, (), record.position)
        cells = [(self.layout.id or "id", id_fault), (self.layout.text, text)]
        problems = problems_in(self.table, record, cells)
        return TextRow(record.number, label, None, problems, record.position)


def open_reports(
    path: Path,
    *,
    text: str | None = None,
    id_: str | None = None,
    encoding: str | None = None,
) -> TextSource:
    """Open a table, a text file or a folder; columns that are not named are guessed."""
    check_there(path)
    kind = format_of(path, ACCEPTED)
    if kind not in ("text", "folder"):
        named = Columns(reference=text, id=id_)
        table, surveyed = open_table(path, kind, named, encoding)
        layout = _settled(table, text, id_, str(path))
        demand_rows(table, layout.columns, path)
        return _source(path.name, kind, surveyed, table, layout)
    if text is not None or id_ is not None:
        raise InputError("text files and folders have no columns to name")
    opened = table_of_folders if kind == "folder" else table_of_lines
    table, surveyed = opened([path], [TEXT], encoding)
    return _source(path.resolve().name, kind, surveyed, table, TextLayout(text=TEXT))


def reports_of_records(
    records: Iterable[Mapping[str, object]], text: str | None = None, id_: str | None = None
) -> TextSource:
    """The texts of records that are in memory, such as the rows of a data frame."""
    table, surveyed = table_of_records(records)
    layout = _settled(table, text, id_, "the list of records")
    return _source("records", "memory", surveyed, table, layout)


def _settled(table: RecordTable, text: str | None, id_: str | None, file: str) -> TextLayout:
    """The layout of a table; rows that bring their id with them need no column for it."""
    layout = text_layout_of(table.columns, text, id_, file)
    return TextLayout(text=layout.text) if table.keyed and id_ is None else layout


def _source(
    name: str, kind: str, surveyed: Survey, table: RecordTable, layout: TextLayout
) -> TextSource:
    return TextSource(
        name=name,
        format=kind,
        encoding=surveyed.encoding,
        sha256=surveyed.sha256,
        notes=surveyed.notes,
        size=surveyed.size,
        table=table,
        layout=layout,
    )
