"""From files to pairs: what the rest of the package calls to read its input."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.columns import Columns, Layout, layout_of
from histoeval.io.delimited import open_delimited
from histoeval.io.documents import open_json
from histoeval.io.encoding import Survey, open_bytes, survey
from histoeval.io.jsonlines import open_json_lines
from histoeval.io.rows import Row, RowReader
from histoeval.io.tables import Table, table_of_records
from histoeval.io.texts import open_folders, open_text_files

__all__ = ["Columns", "Row", "Source", "open_source", "source_of_records"]

GUESS = Columns()
"""No column was named."""

ENDINGS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
}
ACCEPTED = (
    f"one table ({', '.join(name for name in ENDINGS if name != '.txt')}; all but Parquet also "
    "with .gz), or two and more .txt files with one report per line, or two and more folders of "
    ".txt files, the references first"
)


@dataclass(frozen=True)
class Source:
    """What was opened, and the pairs in it.

    `name` has no directories, `encoding` is empty where there is none, `notes` are for people,
    `systems` is empty where a column names the system of each row, and `size` is in bytes on
    disk, 0 for what is in memory.
    """

    name: str
    format: str
    encoding: str
    sha256: str
    notes: tuple[str, ...]
    systems: tuple[str, ...]
    size: int
    table: Table = field(repr=False)
    layout: Layout = field(repr=False)

    def rows(self) -> Iterator[Row]:
        """Every row, from the start, however often it is called."""
        return RowReader(self.table, self.layout).rows()


def open_source(
    paths: Sequence[Path], columns: Columns = GUESS, encoding: str | None = None
) -> Source:
    """Open one table, or parallel text files or folders, the references first."""
    for path in paths:
        try:
            path.stat()
        except FileNotFoundError as error:
            raise InputError(f"{path} does not exist") from error
        except OSError as error:
            raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    kinds = {_format(path) for path in paths}
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


def source_of_records(records: Iterable[Mapping[str, object]], columns: Columns = GUESS) -> Source:
    """The pairs of records that are in memory, such as the rows of a data frame."""
    table, surveyed = table_of_records(records)
    layout = _settled(table, columns, "the list of records")
    return _source("records", "memory", surveyed, table, layout)


def _format(path: Path) -> str:
    if path.is_dir():
        return "folder"
    ending = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    kind = ENDINGS.get(ending.lower())
    if kind is None or (kind == "parquet" and ending != path.suffix):
        raise InputError(f"{path} has an ending that is not known. What can be read: {ACCEPTED}")
    return kind


def _open_table(path: Path, columns: Columns, encoding: str | None) -> Source:
    kind = _format(path)
    if kind == "parquet":
        table, surveyed = _open_parquet(path, encoding)
    else:
        surveyed = survey(path, encoding)
        table = _open_text_table(path, kind, surveyed.encoding, columns)
    layout = _settled(table, columns, str(path))
    if next(table.read(layout.columns), None) is None:
        raise InputError(f"{path} has columns and no rows")
    return _source(path.name, kind, surveyed, table, layout)


def _open_text_table(path: Path, kind: str, encoding: str, columns: Columns) -> Table:
    if kind == "jsonl":
        return open_json_lines(path, encoding)
    if kind == "json":
        return open_json(path, encoding)
    return open_delimited(path, encoding, columns, "\t" if kind == "tsv" else ",;\t|")


def _open_parquet(path: Path, encoding: str | None) -> tuple[Table, Survey]:
    from histoeval.io.parquet import open_parquet  # noqa: PLC0415 - polars is slow to import

    with open_bytes(path) as (stream, _):
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    notes = () if encoding is None else ("Parquet has no encoding; --encoding was not used",)
    return open_parquet(path), Survey(path.stat().st_size, digest, notes=notes)


def _settled(table: Table, columns: Columns, file: str) -> Layout:
    """The layout of a table; rows that bring their id with them need no column for it."""
    layout = layout_of(table.columns, columns, file)
    if table.keyed and columns.id is None:
        return layout.model_copy(update={"id": None})
    return layout


def _source(name: str, kind: str, surveyed: Survey, table: Table, layout: Layout) -> Source:
    return Source(
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
