"""Files of every format, opened as tables."""

import hashlib
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from histoeval.errors import InputError, did_you_mean
from histoeval.io.documents.fhir import is_fhir, open_fhir
from histoeval.io.documents.hl7 import open_hl7
from histoeval.io.documents.texts import table_of_document
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.columns import Columns
from histoeval.io.tables.delimited import open_delimited
from histoeval.io.tables.encoding import Survey, open_bytes, survey
from histoeval.io.tables.formats import RecordTable, table_of_records
from histoeval.io.tables.inspect_log import is_inspect_log
from histoeval.io.tables.json_documents import open_json
from histoeval.io.tables.jsonlines import open_json_lines

GUESS = Columns()
"""No column was named."""

INSPECT_LOG = "inspect log"

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
TABLES = frozenset(ENDINGS.values()) - {"text"}
"""Formats that are a table."""

DOCUMENTS = frozenset({"docx", "pdf"})
"""Formats that hold one report."""

PACKED = frozenset({"parquet", INSPECT_LOG, *DOCUMENTS})
"""Formats that are packed already."""

_TO_READ = {
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ": save the sheet as CSV"),
    **dict.fromkeys((".zip", ".tar", ".7z", ".tgz"), ": unpack it first"),
}
"""What to do with files that people have."""

ONE_TABLE = (
    f"one table ({', '.join(name for name, kind in ENDINGS.items() if kind not in _NO_TABLE)}; all "
    "but Parquet and .eval also with .gz)"
)


@dataclass(frozen=True)
class OpenedTable:
    """A table that was opened, and where it comes from.

    `name` has no directories, `encoding` is empty where there is none, `notes` are for the user,
    `size` is in bytes on disk, 0 for what is in memory, and no output may replace `files`.
    """

    name: str
    format: str
    encoding: str
    sha256: str
    notes: tuple[str, ...]
    size: int
    table: RecordTable = field(repr=False)
    files: tuple[Path, ...] = field(default=(), repr=False, kw_only=True)

    def description(self) -> dict[str, object]:
        """What a summary says of it."""
        return {
            "name": self.name,
            "format": self.format,
            "encoding": self.encoding,
            "sha256": self.sha256,
            "notes": list(self.notes),
        }


def check_there(path: Path) -> None:
    """A path that was given must lead somewhere."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist{similar_file(path)}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise InputError(
            f"{path} is a pipe or a device, and inputs are read more than once: give a file"
        )


def similar_file(path: Path) -> str:
    """A guess, in brackets, at which of the files in its folder was meant."""
    with suppress(OSError):
        return did_you_mean(path.name, (each.name for each in path.parent.iterdir()))
    return ""


def format_of(path: Path, accepted: str) -> str:
    """The format of a file by its ending, or that it is a folder."""
    if path.is_dir():
        return "folder"
    ending = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    kind = ENDINGS.get(ending.lower())
    if kind is None or (kind in PACKED and ending != path.suffix):
        way = _TO_READ.get(ending.lower(), "")
        raise InputError(
            f"{path} has an ending that is not known{way}. What can be read: {accepted}"
        )
    return kind


def demand_table(path: Path) -> str:
    """The format of a file, which must be a table."""
    check_there(path)
    kind = format_of(path, ONE_TABLE)
    if kind in ("text", "folder"):
        raise wrong_folder(path, f"is not a table. What can be read: {ONE_TABLE}")
    return kind


def open_table(path: Path, named: Columns = GUESS, encoding: str | None = None) -> OpenedTable:
    """Open one table of any format; the columns that were named help to find its header."""
    kind = demand_table(path)
    if kind == "json" and is_inspect_log(path):
        kind = INSPECT_LOG
    if kind in ("parquet", INSPECT_LOG):
        return opened(path.name, kind, *_open_binary(path, kind, encoding), files=(path,))
    if kind in DOCUMENTS:
        return opened(path.name, kind, *table_of_document(path), files=(path,))
    surveyed = survey(path, encoding)
    if exported := _exported(path, kind, surveyed.encoding, encoding):
        kind = "hl7" if kind == "hl7" else "fhir"
        return opened(path.name, kind, exported, surveyed, files=(path,))
    if kind == "jsonl":
        table = open_json_lines(path, surveyed.encoding)
    elif kind == "json":
        table = open_json(path, surveyed.encoding)
    else:
        delimiters = "\t" if kind == "tsv" else ",;\t|"
        table = open_delimited(path, surveyed.encoding, named, delimiters)
    return opened(path.name, kind, table, surveyed, files=(path,))


def open_records(records: Iterable[Mapping[str, object]]) -> OpenedTable:
    """A table of records that are in memory, such as the rows of a data frame."""
    return opened("records", "memory", *table_of_records(records))


def opened(
    name: str, kind: str, table: RecordTable, surveyed: Survey, files: tuple[Path, ...] = ()
) -> OpenedTable:
    """A table with what one pass over its bytes has shown."""
    return OpenedTable(
        name=name,
        format=kind,
        encoding=surveyed.encoding,
        sha256=surveyed.sha256,
        notes=surveyed.notes,
        size=surveyed.size,
        table=table,
        files=files,
    )


def demand_rows(table: RecordTable, columns: tuple[str, ...], path: Path) -> None:
    """A table must have at least one row, though that may be a broken one."""
    if next(table.read(columns), None) is None:
        raise InputError(f"{path} has columns and no rows")


def _exported(path: Path, kind: str, looks: str, named: str | None) -> RecordTable | None:
    """The reports in an export of a hospital system; None where a file is no such thing."""
    if kind == "hl7":
        return open_hl7(path, looks, named=named is not None)
    if kind in ("json", "jsonl") and is_fhir(path, looks):
        return open_fhir(path, looks, lines=kind == "jsonl")
    return None


def _open_binary(path: Path, kind: str, encoding: str | None) -> tuple[RecordTable, Survey]:
    """A file that says itself how its texts are encoded."""
    if kind == "parquet":
        from histoeval.io.tables.parquet import open_parquet as open_file
    else:
        from histoeval.io.tables.inspect_log import open_inspect_log as open_file

    with open_bytes(path) as (stream, _):
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    named = kind[0].upper() + kind[1:]
    notes = () if encoding is None else (f"{named} has no encoding; the one given was not used",)
    return open_file(path), Survey(path.stat().st_size, digest, notes=notes)
