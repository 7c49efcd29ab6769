"""Parquet, a slice of rows at a time."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import polars as pl

from histoeval.errors import InputError
from histoeval.io.tables.formats import Record, RecordTable

SLICE_BYTES = 2 * 2**20
SLICE_ROWS = 8192
"""A slice is as many rows as take about this many bytes in the file, and never more than this."""


_DAMAGE = (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, MemoryError)
"""What polars raises for damaged files; a panic is not even an `Exception`."""


def open_parquet(path: Path) -> RecordTable:
    """A table whose columns are read only where they are needed."""
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = tuple(frame.collect_schema().names())
    except _DAMAGE as error:
        raise InputError(f"{path} is not a Parquet file: {_first_line(error)}") from error
    return RecordTable(columns, partial(_read, path))


def _read(path: Path, needed: Sequence[str]) -> Iterator[Record]:
    frame = pl.scan_parquet(path, glob=False)
    size = path.stat().st_size
    total = _collected(frame.select(pl.len()), path).item()
    step = max(1, min(SLICE_ROWS, total * SLICE_BYTES // size))
    for start in range(0, total, step):
        rows = _collected(frame.select(needed).slice(start, step), path)
        for number, values in enumerate(rows.iter_rows(named=True), start=start + 1):
            yield Record(number, values, position=size * number // total)


def _collected(frame: pl.LazyFrame, path: Path) -> pl.DataFrame:
    try:
        return frame.collect()
    except _DAMAGE as error:
        raise InputError(f"{path} is damaged: {_first_line(error)}") from error


def _first_line(error: BaseException) -> str:
    return str(error).partition("\n")[0]
