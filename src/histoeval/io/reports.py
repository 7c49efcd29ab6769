"""From files to single reports: what the package calls to read texts that have no partner."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError, Problem
from histoeval.io.documents.fhir import is_fhir
from histoeval.io.documents.texts import (
    DOCUMENT_ENDINGS,
    TEXT,
    TEXT_ENDINGS,
    files_below,
    table_of_folders,
    table_of_lines,
)
from histoeval.io.files import (
    ONE_TABLE,
    OpenedTable,
    RowNaming,
    TableSource,
    check_there,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.tables.columns import Columns, TextLayout, text_layout_of
from histoeval.io.tables.encoding import joined
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import text_of

FHIR_ENDINGS = (".json", ".ndjson", ".jsonl")

ACCEPTED = (
    f"{ONE_TABLE}, a .docx or .pdf file, a .txt file with one report per line, or a folder of "
    ".txt, .docx, .pdf, .hl7 or FHIR files"
)


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


@dataclass(frozen=True, kw_only=True)
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
        return [self._unreadable(record, label, self.problems_in(record, cells))]


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
    if kind in ("text", "folder") and (text is not None or id_ is not None):
        raise InputError("text files and folders have no columns to name")
    table = open_report_table(path, Columns(reference=text, id=id_), encoding)
    if kind in ("text", "folder"):
        return TextSource(**vars(table), layout=TextLayout(text=TEXT))
    layout = text_layout_of(table.table, text, id_, str(path), several=several)
    demand_rows(table.table, layout.columns, path)
    return TextSource(**vars(table), layout=layout)


def open_report_table(path: Path, named: Columns, encoding: str | None) -> OpenedTable:
    """Whatever reports can be read from, as a table; the columns that were named help with it."""
    check_there(path)
    kind = format_of(path, ACCEPTED)
    if kind == "folder":
        return _open_folder(path, encoding)
    if kind == "text":
        return opened(path.resolve().name, kind, *table_of_lines([path], [TEXT], encoding))
    return open_table(path, named, encoding)


def _open_folder(path: Path, encoding: str | None) -> OpenedTable:
    """A folder of documents, or of exports that may hold several reports each.

    An export that cannot be read is a problem and costs no other.
    """
    name = path.resolve().name
    exports = exports_in(path)
    if not exports:
        return opened(name, "folder", *table_of_folders([path], [TEXT], encoding))
    tables: dict[Path, OpenedTable | Problem] = {}
    for file in exports:
        try:
            tables[file] = open_table(file, encoding=encoding)
        except InputError as error:
            tables[file] = Problem("damaged_file", str(error))
    whole = joined((each.name, each) for each in tables.values() if isinstance(each, OpenedTable))
    read = partial(_read_exports, tables)
    table = RecordTable((TEXT,), read, keyed=True, half_character="not_utf8")
    return opened(name, "folder", table, whole, files=tuple(tables))


def exports_in(folder: Path) -> list[Path]:
    """HL7 files of a folder; where it holds no documents either, its FHIR files."""
    files = files_below(folder)
    endings = {path.suffix.lower() for path in files}
    if ".hl7" in endings:
        return [path for path in files if path.suffix.lower() == ".hl7"]
    if endings & {*TEXT_ENDINGS, *DOCUMENT_ENDINGS}:
        return []
    found = [path for path in files if path.suffix.lower() in FHIR_ENDINGS]
    return [path for path in found if is_fhir(path, "utf-8")]


def _read_exports(
    tables: Mapping[Path, OpenedTable | Problem], _needed: Sequence[str]
) -> Iterator[Record]:
    number = before = 0
    for path, table in tables.items():
        if isinstance(table, Problem):
            number += 1
            yield Record(number, None, table, position=before)
            continue
        for record in table.table.read((TEXT,)):
            number += 1
            yield record._replace(number=number, position=before + record.position)
        before += path.stat().st_size


def reports_of_records(
    records: Iterable[Mapping[str, object]],
    text: str | None = None,
    id_: str | None = None,
    *,
    several: bool = False,
) -> TextSource:
    """The texts of records that are in memory, such as the rows of a data frame."""
    table = open_records(records)
    layout = text_layout_of(table.table, text, id_, "the list of records", several=several)
    return TextSource(**vars(table), layout=layout)
