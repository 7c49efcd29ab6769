"""The files that rows of results lie in: JSON lines, plain or compressed, or Parquet.

Rows are written as plain lines while a run goes on, and packed when it has ended. Whoever reads
them asks `stored_as` for the file and `row_lines` for its lines, and gets the same lines from each.
"""

import gzip
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, cast, get_args

from histoeval.errors import SettingError
from histoeval.io.row_tables import read_table, write_table
from histoeval.io.writing import whole_file

RowForm = Literal["jsonl", "jsonl.gz", "parquet"]
FORMS: tuple[str, ...] = get_args(RowForm)

LEVEL = 6
"""Of gzip: 9 takes three times as long and saves a few percent."""


def row_form(name: str | None) -> RowForm | None:
    """The form that a person named; None leaves rows as they are."""
    if name is not None and name not in FORMS:
        raise SettingError(f"rows cannot be written as {name!r}; choose one of {', '.join(FORMS)}")
    return cast(RowForm | None, name)


def in_form(plain: Path, form: str) -> Path:
    """Where the rows of a plain file lie in another form."""
    return plain.with_name(f"{plain.name.removesuffix('.jsonl')}.{form}")


def all_forms(plain: Path) -> list[Path]:
    """Every file that may hold the rows; the plain one counts first, since only that can grow."""
    return [in_form(plain, form) for form in FORMS]


def stored_as(plain: Path) -> Path:
    """The file that holds the rows now; the plain one where there is none."""
    return next((each for each in all_forms(plain) if each.exists()), plain)


def row_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of rows, whatever its form; a `ValueError` where it is damaged."""
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
    """A file of lines, whole or absent; compressed by its name, without a time or a name in it."""
    with whole_file(path) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        with gzip.GzipFile("", "wb", LEVEL, file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


def pack(rows: Path, target: Path) -> None:
    """Write rows in the form that a file's name asks for, in constant memory."""
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
