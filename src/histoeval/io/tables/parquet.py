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


def open_parquet(path: Path) -> RecordTable:
    """A table whose columns are read only where they are needed."""
    try:
        frame = pl.scan_parquet(path, glob=False)
        columns = tuple(frame.collect_schema().names())
    except (pl.exceptions.PolarsError, OSError) as error:
        raise InputError(f"{path} is not a Parquet file: {_first_line(error)}") from error
    return RecordTable(columns, partial(_read, path))


def _read(path: Path, needed: Sequence[str]) -> Iterator[Record]:
    frame = pl.scan_parquet(path, glob=False)
    size = path.stat().st_size
    total = frame.select(pl.len()).collect().item()
    step = max(1, min(SLICE_ROWS, total * SLICE_BYTES // size))
    for start in range(0, total, step):
        try:
            rows = frame.select(needed).slice(start, step).collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{path} is damaged: {_first_line(error)}") from error
        for number, values in enumerate(rows.iter_rows(named=True), start=start + 1):
            yield Record(number, values, position=size * number // total)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
