"""The files that rows of results lie in: JSON lines, plain or compressed, or Parquet.

Rows are written as plain lines while a run goes on, and packed when it has ended. Whoever reads
them asks `stored_as` for the file and `row_lines` for its lines, and gets the same lines from each.

In Parquet every number has a column of its own, and lists and objects are JSON text. The column
`layout` has each row with names of columns in the place of values, and brings the line back as it
was: `"id"` is the value of that column, `["errors"]` the JSON in it, and an empty list or object is
itself.
"""

import gzip
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast, get_args

from pydantic_core import from_json, to_json

from histoeval.io.writing import whole_file

RowForm = Literal["jsonl", "jsonl.gz", "parquet"]
FORMS: tuple[str, ...] = get_args(RowForm)

LEVEL = 6  # of gzip: 9 takes three times as long and saves a few percent
LAYOUT = "layout"
SCORES, PARTS, VALUE = "scores", "parts", "value"
# Rows that are written and read together; never another number, so that bytes do not change.
ROW_GROUP = 4096

KeyPath = tuple[str, ...]  # where a value stands in a row: the names that lead to it


def in_form(plain: Path, form: str) -> Path:
    return plain.with_name(f"{plain.name.removesuffix('.jsonl')}.{form}")


def stored_as(plain: Path) -> Path:
    """Return the file that holds the rows; the plain one wins, since only that can grow."""
    files = (in_form(plain, form) for form in FORMS)
    return next((file for file in files if file.exists()), plain)


def row_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file of rows in any form; raise `ValueError` if it is damaged."""
    if path.suffix.lower() == ".parquet":
        yield from read_table(path)
    elif path.suffix.lower() == ".gz":
        try:
            with gzip.open(path, "rb") as lines:
                yield from lines
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"not a whole gzip file: {error}") from error
    else:
        with path.open("rb") as lines:
            yield from lines


@contextmanager
def whole_lines(path: Path) -> Iterator[BinaryIO]:
    """Write lines, whole or not at all; .gz is compressed without time or name, for equal bytes."""
    with whole_file(path) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def pack(rows: Path, target: Path) -> None:
    if target.suffix.lower() == ".parquet":
        with whole_file(target) as file:
            write_table(lambda: row_lines(rows), file)
        return
    with whole_lines(target) as file:
        file.writelines(row_lines(rows))


def drop_half_line(path: Path) -> None:
    """Remove the beginning of a line that a killed run may have left."""
    with path.open("rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)


class RowColumns:
    """The columns of a file, in order of first appearance; JSON columns come last."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.kinds: dict[KeyPath, str] = {}
        for row in rows:
            _laid_out(row, self._learn)
        self.names: dict[KeyPath, str] = {}
        used_names = {LAYOUT}
        for key_path in sorted(self.kinds, key=lambda key_path: self.kinds[key_path] == "json"):
            # `bleu` for a value, `bleu.precision_1` for a part of it, `bleu.evidence` for the rest
            name = key_path[0]
            if name == SCORES:
                _, metric, field, *part = key_path
                name = metric if field == VALUE else ".".join([metric, *(part or [field])])
            while name in used_names:
                name += "_"
            used_names.add(name)
            self.names[key_path] = name

    def _learn(self, key_path: KeyPath, value: Any) -> None:
        """Note the type of a column; if rows disagree, it is JSON."""
        kind = {type(None): "", str: "text", float: "float"}.get(type(value), "json")
        if type(value) is int and -(2**63) <= value < 2**63:
            kind = "int"
        known_kind = self.kinds.get(key_path, "")
        self.kinds[key_path] = (
            known_kind or kind if not (known_kind and kind) or known_kind == kind else "json"
        )

    def schema(self) -> dict[str, Any]:
        import polars as pl

        types = {"int": pl.Int64, "float": pl.Float64}
        column_types = {
            name: types.get(self.kinds[key_path], pl.String)
            for key_path, name in self.names.items()
        }
        return {**column_types, LAYOUT: pl.String}

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        cells: dict[str, Any] = {}

        def put(key_path: KeyPath, value: Any) -> Any:
            name = self.names[key_path]
            if self.kinds[key_path] != "json":
                cells[name] = value
                return name
            if value in ([], {}):
                return value
            cells[name] = None if value is None else to_json(value).decode()
            return [name]

        cells[LAYOUT] = to_json(_laid_out(row, put)).decode()
        return cells


def _laid_out(row: Mapping[str, Any], put: Callable[[KeyPath, Any], Any]) -> dict[str, Any]:
    """Replace each value of a row that has a column by the result of `put`."""

    def field(metric: str, name: str, value: Any) -> Any:
        if name == PARTS:
            return {
                part: put((SCORES, metric, PARTS, part), number) for part, number in value.items()
            }
        return value if value in ([], {}) else put((SCORES, metric, name), value)

    content: dict[str, Any] = {}
    for name, value in row.items():
        if name != SCORES:
            content[name] = put((name,), value)
            continue
        content[name] = {
            metric: {key: field(metric, key, part) for key, part in result.items()}
            for metric, result in value.items()
        }
    return content


def write_table(lines: Callable[[], Iterable[bytes]], file: BinaryIO) -> None:
    """Write lines of JSON as Parquet, in two passes and in constant memory."""
    import polars as pl
    from polars.io.plugins import register_io_source

    columns = RowColumns(map(from_json, lines()))
    schema = columns.schema()

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        rows = map(from_json, lines())
        while batch := list(islice(rows, ROW_GROUP)):
            yield pl.DataFrame(list(map(columns.cells, batch)), schema=schema)

    try:
        register_io_source(frames, schema=schema).sink_parquet(
            file, compression="zstd", row_group_size=ROW_GROUP, engine="streaming"
        )
    except pl.exceptions.PolarsError as error:
        # Polars quotes the error of the system, such as that of a full disk.
        os_error = re.search(r"\(os error (\d+)\)", str(error))
        if os_error is None:
            raise OSError(str(error)) from error
        raise OSError(int(os_error[1]), os.strerror(int(os_error[1]))) from error


def read_table(path: Path) -> Iterator[bytes]:
    """Yield the lines that a file was written from; raise `ValueError` if it is no such file."""
    import polars as pl

    parsed_layout = lru_cache(maxsize=64)(from_json)
    try:
        frame = pl.scan_parquet(path, glob=False)
        for start in range(0, frame.select(pl.len()).collect().item(), ROW_GROUP):
            for cells in frame.slice(start, ROW_GROUP).collect().iter_rows(named=True):
                row = _filled(parsed_layout(cells[LAYOUT]), cells)
                # Scores were written by Pydantic, the rows of other verbs by Python.
                line = (
                    to_json(row) if SCORES in row else json.dumps(row, ensure_ascii=False).encode()
                )
                yield line + b"\n"
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, LookupError) as error:
        raise ValueError(f"not a Parquet file of rows: {error}") from error


def _filled(layout: Any, cells: Mapping[str, Any]) -> Any:
    if isinstance(layout, str):
        return cells[layout]
    if isinstance(layout, list):
        text = cells[layout[0]] if layout else "[]"
        return None if text is None else from_json(text)
    return {name: _filled(part, cells) for name, part in layout.items()}
