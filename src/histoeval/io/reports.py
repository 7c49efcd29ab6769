"""From files to single reports: what the package calls to read texts that have no partner."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.documents.texts import table_of_folders, table_of_lines
from histoeval.io.files import (
    ONE_TABLE,
    check_there,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.source import RowNaming, TableSource, problems_in
from histoeval.io.tables.cell_checks import text_of
from histoeval.io.tables.columns import Columns, TextLayout
from histoeval.io.tables.formats import Record
from histoeval.io.tables.references import reference_layout

TEXT = "text"
"""What the only column of text files and folders is called."""

ACCEPTED = f"{ONE_TABLE}, a .txt file with one report per line, or a folder of .txt files"


class TextRow(NamedTuple):
    """One text, or the problems that stand in its place; never both.

    `number` counts the rows of the source from 1. `position` is how many bytes of the source have
    been read, for progress.
    """

    number: int
    id: str
    text: str | None
    problems: tuple[Problem, ...]
    position: int = 0

    @property
    def characters(self) -> int:
        """The length of the text."""
        return len(self.text or "")


@dataclass(frozen=True)
class TextSource(TableSource[TextLayout, TextRow]):
    """What was opened, and the texts in it."""

    def _unreadable(self, record: Record, label: str, problems: tuple[Problem, ...]) -> TextRow:
        return TextRow(record.number, label, None, problems, record.position)

    def _readable(
        self, record: Record, values: Mapping[str, object], naming: RowNaming
    ) -> list[TextRow]:
        label, id_fault = naming.name(record, values)
        text = text_of(values.get(self.layout.text))
        if id_fault is None and isinstance(text, str):
            return [TextRow(record.number, label, text, (), record.position)]
        cells = [(self.layout.id or "id", id_fault), (self.layout.text, text)]
        return [self._unreadable(record, label, problems_in(self.table, record, cells))]


def open_reports(
    path: Path,
    *,
    text: str | None = None,
    id_: str | None = None,
    encoding: str | None = None,
    several: bool = False,
) -> TextSource:
    """Open a table, a text file or a folder; columns that are not named are guessed.

    `several` takes numbered columns of references together, for whoever asks for them.
    """
    check_there(path)
    kind = format_of(path, ACCEPTED)
    if kind not in ("text", "folder"):
        table = open_table(path, Columns(reference=text, id=id_), encoding)
        layout = reference_layout(table.table, text, id_, str(path), several=several)
        demand_rows(table.table, layout.columns, path)
        return TextSource(**vars(table), layout=layout)
    if text is not None or id_ is not None:
        raise InputError("text files and folders have no columns to name")
    read = table_of_folders if kind == "folder" else table_of_lines
    records, surveyed = read([path], [TEXT], encoding)
    table = opened(path.resolve().name, kind, records, surveyed)
    return TextSource(**vars(table), layout=TextLayout(text=TEXT))


def reports_of_records(
    records: Iterable[Mapping[str, object]],
    text: str | None = None,
    id_: str | None = None,
    *,
    several: bool = False,
) -> TextSource:
    """The texts of records that are in memory, such as the rows of a data frame."""
    table = open_records(records)
    layout = reference_layout(table.table, text, id_, "the list of records", several=several)
    return TextSource(**vars(table), layout=layout)
