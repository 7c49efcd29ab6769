"""Reading single reports and cases from files: a report, its image, and reports under attack."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
    NO_VALUE,
    ONE_TABLE,
    RECORDS,
    OpenedTable,
    SeenNames,
    TableSource,
    demand_rows,
    format_of,
    open_records,
    open_table,
    opened,
)
from histoeval.io.tables.columns import (
    ATTACKED,
    AUGMENTED,
    CaseLayout,
    Columns,
    TextLayout,
    case_layout_of,
    normalised,
    taken_note,
    text_layout_of,
)
from histoeval.io.tables.encoding import joined
from histoeval.io.tables.records import Record, RecordTable, name_of, text_of

FHIR_ENDINGS = (".json", ".ndjson", ".jsonl")

ACCEPTED = (
    f"{ONE_TABLE}, a .docx or .pdf file, a .txt file with one report per line, or a folder of "
    ".txt, .docx, .pdf, .hl7 or FHIR files"
)


class TextRow(NamedTuple):
    """One text, or the problems that stand in its place; never both."""

    number: int
    id: str
    text: str | None
    problems: tuple[Problem, ...]
    position: int = 0

    @property
    def characters(self) -> int:
        return len(self.text or "")


@dataclass(frozen=True, kw_only=True)
class TextSource(TableSource[TextLayout, TextRow]):
    def rows_of(
        self, record: Record, values: Mapping[str, object], seen: SeenNames
    ) -> Iterator[TextRow]:
        label, id_fault = self.name_of(record, seen)
        text = text_of(values.get(self.layout.text))
        cells = (self.layout.id or "id", id_fault), (self.layout.text, text)
        problems = self.problems_in(record, *cells)
        valid_text = text if isinstance(text, str) and not problems else None
        yield TextRow(record.number, label, valid_text, problems, record.position)


def open_reports(
    data: Path | Iterable[Mapping[str, object]],
    *,
    text: str | None = None,
    id_: str | None = None,
    encoding: str | None = None,
    several: bool = False,
) -> TextSource:
    """Open a table, a text file, a folder or records; columns that are not named are guessed."""
    if isinstance(data, Path):
        kind = format_of(data, ACCEPTED)
        if kind in ("text", "folder") and (text is not None or id_ is not None):
            raise InputError("text files and folders have no columns to name")
        table = open_report_table(data, Columns(reference=text, id=id_), encoding)
        if kind in ("text", "folder"):
            return TextSource(**vars(table), layout=TextLayout(text=TEXT))
    else:
        table = open_records(data)
    name = str(data) if isinstance(data, Path) else RECORDS
    layout = text_layout_of(table.table, text, id_, name, several=several)
    demand_rows(table.table, layout.columns, name)
    return TextSource(**vars(table), layout=layout)


def open_report_table(path: Path, named: Columns, encoding: str | None) -> OpenedTable:
    kind = format_of(path, ACCEPTED)
    if kind == "folder":
        return _open_folder(path, encoding)
    if kind == "text":
        return opened(path.resolve().name, kind, *table_of_lines([path], [TEXT], encoding))
    return open_table(path, named, encoding)


def _open_folder(path: Path, encoding: str | None) -> OpenedTable:
    """Open a folder of documents, or of exports that may hold several reports each."""
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
    joint_survey = joined(
        (table.name, table) for table in tables.values() if not isinstance(table, Problem)
    )
    reader = partial(_read_exports, tables)
    table = RecordTable((TEXT,), reader, keyed=True, half_character="not_utf8")
    return opened(name, "folder", table, joint_survey, files=tuple(tables))


def exports_in(folder: Path) -> list[Path]:
    """List the HL7 files of a folder; if it has neither those nor documents, its FHIR files."""
    files = files_below(folder)
    endings = {path.suffix.lower() for path in files}
    if ".hl7" in endings:
        return [path for path in files if path.suffix.lower() == ".hl7"]
    if endings & {*TEXT_ENDINGS, *DOCUMENT_ENDINGS}:
        return []
    candidates = [path for path in files if path.suffix.lower() in FHIR_ENDINGS]
    return [path for path in candidates if is_fhir(path, "utf-8")]


def _read_exports(
    tables: Mapping[Path, OpenedTable | Problem], _needed: Sequence[str]
) -> Iterator[Record]:
    number = bytes_before = 0
    for path, table in tables.items():
        if isinstance(table, Problem):
            number += 1
            yield Record(number, None, table, position=bytes_before)
            continue
        for record in table.table.read((TEXT,)):
            number += 1
            yield record._replace(number=number, position=bytes_before + record.position)
        bytes_before += path.stat().st_size


# --- cases ---------------------------------------------------------------------------------------


class AttackedReport(NamedTuple):
    attack: str
    text: str


class TrustCase(NamedTuple):
    """One row: its report or the problems in its place; the rest where the row has it."""

    number: int
    id: str
    report: str | None
    problems: tuple[Problem, ...]
    image: str | Problem | None = None
    augmented: tuple[AttackedReport, ...] = ()
    attacked: tuple[AttackedReport, ...] = ()
    troubled: tuple[Problem, ...] = ()
    specimen: str = ""
    position: int = 0


@dataclass(frozen=True, kw_only=True)
class CaseSource(TableSource[CaseLayout, TrustCase]):
    folder: Path = field(repr=False, default=Path())

    def rows_of(
        self, record: Record, values: Mapping[str, object], seen: SeenNames
    ) -> Iterator[TrustCase]:
        layout = self.layout
        label, id_fault = self.name_of(record, seen)
        text = text_of(values.get(layout.report))
        cells = (layout.id or "id", id_fault), (layout.report, text)
        problems = self.problems_in(record, *cells)
        augmented, broken_augmented = self._attacks(record, values, layout.augmented, AUGMENTED)
        attacked, broken_attacked = self._attacks(record, values, layout.attacked, ATTACKED)
        image: str | Problem | None = None
        image_cell = (
            NO_VALUE if layout.image is None else name_of(values.get(layout.image), NO_VALUE)
        )
        if isinstance(image_cell, str):
            image = image_cell.strip()
        elif image_cell != NO_VALUE:
            (image,) = self.problems_in(record, (layout.image, image_cell))
        specimen = None if layout.specimen is None else values.get(layout.specimen)
        yield TrustCase(
            number=record.number,
            id=label,
            report=text if isinstance(text, str) and not problems else None,
            problems=problems,
            image=image,
            augmented=augmented,
            attacked=attacked,
            troubled=(*broken_augmented, *broken_attacked),
            specimen=specimen.strip() if isinstance(specimen, str) else "",
            position=record.position,
        )

    def _attacks(
        self, record: Record, values: Mapping[str, object], columns: Sequence[str], kind: str
    ) -> tuple[tuple[AttackedReport, ...], tuple[Problem, ...]]:
        """Return the reports of one kind of attack, and the problems of its unusable cells.

        An attack is named by the rest of its column name, behind the kind.
        """
        default_name = {AUGMENTED: "stain", ATTACKED: "prompt"}[kind]
        reports: list[AttackedReport] = []
        problems: list[Problem] = []
        for column in columns:
            cell = text_of(values.get(column))
            if isinstance(cell, str):
                attack = normalised(column).removeprefix(kind).strip("_") or default_name
                reports.append(AttackedReport(attack, cell))
            elif cell.kind not in ("missing_value", "empty_text"):
                problems += self.problems_in(record, (column, cell))
        return tuple(reports), tuple(problems)


def open_cases(
    data: Path | Iterable[Mapping[str, object]],
    *,
    text: str | None = None,
    image: str | None = None,
    id_: str | None = None,
    images: Path | None = None,
    encoding: str | None = None,
) -> CaseSource:
    if not isinstance(data, Path):
        table = open_records(data)
        layout = case_layout_of(table.table, text, image, id_, RECORDS)
        return CaseSource(**vars(table), layout=layout, folder=images or Path())
    table = open_report_table(data, Columns(reference=text, id=id_), encoding)
    layout = case_layout_of(table.table, text, image, id_, str(data))
    demand_rows(table.table, layout.columns, data)
    guessed_columns: dict[str, Sequence[str | None]] = {
        "id": [] if id_ else [layout.id],
        "report": [] if text else [layout.report],
        "image": [] if image else [layout.image],
    }
    table_fields = vars(table) | {"notes": (*table.notes, *taken_note(guessed_columns))}
    return CaseSource(**table_fields, layout=layout, folder=images or data.parent)
