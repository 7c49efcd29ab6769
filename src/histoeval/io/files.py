"""Files of every format, opened as tables, and the rows of such a table under their names."""

from __future__ import annotations

import hashlib
import json
import stat
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from histoeval.errors import InputError, Problem, did_you_mean
from histoeval.io.documents.fhir import is_fhir, open_fhir
from histoeval.io.documents.hl7 import open_hl7
from histoeval.io.documents.texts import table_of_document
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.binary import is_inspect_log, open_inspect_log, open_parquet
from histoeval.io.tables.columns import Columns, TableLayout
from histoeval.io.tables.delimited import open_delimited
from histoeval.io.tables.encoding import Survey, survey, survey_binary
from histoeval.io.tables.json_documents import open_json, open_json_lines
from histoeval.io.tables.records import (
    Fault,
    Record,
    RecordTable,
    columns_of,
    kind_of,
    name_of,
    place,
)

GUESS = Columns()  # no column was named
INSPECT_LOG = "inspect log"
RECORDS = "the list of records"  # what messages call rows that are in memory

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".eval": INSPECT_LOG,
    ".hl7": "hl7",
    ".docx": "docx",
    ".pdf": "pdf",
    ".txt": "text",
}
_NO_TABLE = ("text", "docx", "pdf")
TABLES = frozenset(ENDINGS.values()) - {"text"}  # formats that are a table
DOCUMENTS = frozenset({"docx", "pdf"})  # formats that hold one report
PACKED = frozenset({"parquet", INSPECT_LOG, *DOCUMENTS})  # formats that are packed already

# What to do with files that people have.
_TO_READ = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ": save the sheet as CSV"),
    **dict.fromkeys((".zip", ".tar", ".7z", ".tgz"), ": unpack it first"),
}

ONE_TABLE = (
    f"one table ({', '.join(name for name, kind in ENDINGS.items() if kind not in _NO_TABLE)}; all "
    "but Parquet and .eval also with .gz)"
)


@dataclass(frozen=True, kw_only=True)
class OpenedTable(Survey):
    """A table that was opened, and where it comes from.

    `name` has no directories, `encoding` is empty where there is none, `notes` are for the user,
    `size` is in bytes on disk, 0 for what is in memory, and no output may replace `files`.
    """

    name: str
    format: str
    table: RecordTable = field(repr=False)
    files: tuple[Path, ...] = field(default=(), repr=False)

    def description(self) -> dict[str, object]:
        return {
            "name": self.name,
            "format": self.format,
            "encoding": self.encoding,
            "sha256": self.sha256,
            "notes": list(self.notes),
        }


def opened(
    name: str, kind: str, table: RecordTable, surveyed: Survey, files: tuple[Path, ...] = ()
) -> OpenedTable:
    return OpenedTable(**vars(surveyed), name=name, format=kind, table=table, files=files)


def check_there(path: Path) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        hint = ""
        with suppress(OSError):
            hint = did_you_mean(path.name, (file.name for file in path.parent.iterdir()))
        raise InputError(f"{path} does not exist{hint}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"{path} is a pipe or a device, and inputs are read more than once: give a file"
        )


def format_of(path: Path, accepted: str) -> str:
    """Return the format of an existing path: by its ending, or `folder`."""
    check_there(path)
    if path.is_dir():
        return "folder"
    ending = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    kind = ENDINGS.get(ending.lower())
    if kind is None or (kind in PACKED and ending != path.suffix):
        advice = _TO_READ.get(ending.lower(), "")
        raise InputError(
            f"{path} has an ending that is not known{advice}. What can be read: {accepted}"
        )
    return kind


def demand_table(path: Path) -> str:
    kind = format_of(path, ONE_TABLE)
    if kind in ("text", "folder"):
        raise wrong_folder(path, f"is not a table. What can be read: {ONE_TABLE}")
    return kind


def open_table(path: Path, named: Columns = GUESS, encoding: str | None = None) -> OpenedTable:
    kind = demand_table(path)
    if kind == "json" and is_inspect_log(path):
        kind = INSPECT_LOG
    if kind in DOCUMENTS:
        return opened(path.name, kind, *table_of_document(path), files=(path,))
    if kind in PACKED:
        # Such a file says itself how its texts are encoded.
        file_survey = survey_binary(path)
        table = open_parquet(path) if kind == "parquet" else open_inspect_log(path)
        if encoding is not None:
            format_name = kind[0].upper() + kind[1:]
            note = f"{format_name} has no encoding; the one given was not used"
            file_survey = replace(file_survey, notes=(note,))
        return opened(path.name, kind, table, file_survey, files=(path,))
    file_survey = survey(path, encoding)
    if kind == "hl7":
        table = open_hl7(path, file_survey.encoding, named=encoding is not None)
    elif kind in ("json", "jsonl") and is_fhir(path, file_survey.encoding):
        table = open_fhir(path, file_survey.encoding, lines=kind == "jsonl")
        kind = "fhir"
    elif kind == "jsonl":
        table = open_json_lines(path, file_survey.encoding)
    elif kind == "json":
        table = open_json(path, file_survey.encoding)
    else:
        delimiters = "\t" if kind == "tsv" else ",;\t|"
        table = open_delimited(path, file_survey.encoding, named, delimiters)
    return opened(path.name, kind, table, file_survey, files=(path,))


def open_records(records: Iterable[Mapping[str, object]]) -> OpenedTable:
    """Open records that are in memory, such as the rows of a data frame, as a table.

    Its hash is of their content; a value that JSON does not know counts by its type.
    """
    rows: list[object] = list(records)
    reader = partial(_read_memory, rows)
    digest = hashlib.sha256()
    for row in rows:
        line = json.dumps(row, default=lambda value: type(value).__name__)
        digest.update(f"{line}\n".encode())
    table = RecordTable(columns_of(reader(()), RECORDS, most=len(rows)), reader)
    return opened("records", "memory", table, Survey(0, digest.hexdigest()))


def _read_memory(rows: Sequence[object], _needed: Sequence[str]) -> Iterator[Record]:
    for number, row in enumerate(rows, start=1):
        if isinstance(row, Mapping):
            yield Record(number, {str(name): value for name, value in row.items()})
        else:
            problem = Fault("not_an_object", {"kind": kind_of(row)}).problem(place(number))
            yield Record(number, None, problem)


def demand_rows(table: RecordTable, columns: tuple[str, ...], file: str | Path) -> None:
    """Refuse a table without rows; a broken row is enough."""
    if next(table.read(columns), None) is None:
        raise InputError(f"{file} has columns and no rows")


L = TypeVar("L", bound=TableLayout)
Row = TypeVar("Row")

NO_ID = Fault("missing_id")
NO_VALUE = Fault("missing_value")


class SeenNames:
    """Names seen so far with their rows, as 64-bit hashes in sorted buckets.

    A name takes twenty bytes. Two names share a hash in about one of a hundred thousand files
    of ten million rows.
    """

    def __init__(self) -> None:
        self._buckets = [(array("q"), array("q")) for _ in range(0x1000)]

    def first(self, name: str, row: int) -> int:
        """Add the name of a row; return the number of the first row that has it."""
        key = hash(name)
        keys, rows = self._buckets[key & 0xFFF]
        index = bisect_left(keys, key)
        if index < len(keys) and keys[index] == key:
            return rows[index]
        keys.insert(index, key)
        rows.insert(index, row)
        return row


@dataclass(frozen=True, kw_only=True)
class TableSource(OpenedTable, ABC, Generic[L, Row]):
    layout: L = field(repr=False)

    def identity(self) -> dict[str, Any]:
        return {
            "input": self.name,
            "sha256": self.sha256,
            "encoding": self.encoding,
            "columns": self.layout.identity(),
        }

    def rows(self) -> Iterator[Row]:
        seen_names = SeenNames()
        for record in self.table.read(self.layout.columns):
            yield from self.rows_of(record, record.values or {}, seen_names)

    @abstractmethod
    def rows_of(
        self, record: Record, values: Mapping[str, object], seen: SeenNames
    ) -> Iterable[Row]:
        """Return the rows of a record, good or broken; an unreadable record has no values."""

    def name_of(self, record: Record, seen: SeenNames, group: str = "") -> tuple[str, Fault | None]:
        """Return the name of a row, and its fault if any; names are unique within a group.

        The name is that of a column or key, or else the position counted from 0.
        """
        column, row_name = self.layout.id, f"row {record.number}"
        if column is None and record.key is None:
            return str(record.number - 1), None
        if column is not None and record.values is None:
            return row_name, None
        raw_name = record.key if column is None else (record.values or {}).get(column)
        name = name_of(raw_name, NO_ID)
        if isinstance(name, Fault):
            return row_name, name
        if record.values is None:
            return name, None
        first_row = seen.first(f"{name}\0{group}", record.number)
        fault = Fault("duplicate_id", {"id": name, "earlier": f"row {first_row}"})
        return name, None if first_row == record.number else fault

    def problems_in(self, record: Record, *cells: tuple[str | None, object]) -> tuple[Problem, ...]:
        """List the problems of a row: that it cannot be read, or the faults of its cells."""
        if record.problem is not None:
            return (record.problem,)
        return tuple(
            self.table.named(cell).problem(record.place, column)
            for column, cell in cells
            if isinstance(cell, Fault)
        )
