"""Tables that packages read for us: Parquet by polars, and logs of inspect_ai (extra `inspect`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, MissingDependency, pip_install, reason_of
from histoeval.io.tables.records import Record, RecordTable

SLICE_BYTES = 2 * 2**20
# A slice of Parquet is as many rows as take about this many bytes, and never more than this.
SLICE_ROWS = 8192

INSPECT_COLUMNS = ("id", "input", "target", "output", "model")

NO_MODEL = "none/"  # what stands before the name of a system that inspect_ai cannot ask

_INSPECT_START = re.compile(
    rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:'
)


def open_parquet(path: Path) -> RecordTable:
    """Open a table that reads only the needed columns, a slice of rows at a time."""
    import polars as pl

    with _refusing(f"{path} is not a Parquet file"):
        columns = tuple(pl.scan_parquet(path, glob=False).collect_schema().names())
    return RecordTable(columns, partial(_read_parquet, path))


def _read_parquet(path: Path, needed: Sequence[str]) -> Iterator[Record]:
    import polars as pl

    frame, size = pl.scan_parquet(path, glob=False), path.stat().st_size
    with _refusing(f"{path} is damaged"):
        total = frame.select(pl.len()).collect().item()
    step = max(1, min(SLICE_ROWS, total * SLICE_BYTES // size))
    for start in range(0, total, step):
        with _refusing(f"{path} is damaged"):
            rows = frame.select(needed).slice(start, step).collect()
        for number, values in enumerate(rows.iter_rows(named=True), start=start + 1):
            yield Record(number, values, position=size * number // total)


@contextmanager
def _refusing(complaint: str) -> Iterator[None]:
    """Turn errors of polars into an `InputError`; its panic is not even an `Exception`."""
    from polars.exceptions import PanicException, PolarsError

    try:
        yield
    except (PolarsError, PanicException, OSError, MemoryError) as error:
        raise InputError(f"{complaint}: {str(error).partition(chr(10))[0]}") from error


def is_inspect_log(path: Path) -> bool:
    """True if a JSON file begins like a log of inspect_ai."""
    with path.open("rb") as file:
        return _INSPECT_START.match(file.read(400)) is not None


def open_inspect_log(path: Path) -> RecordTable:
    """Open a table with a row for each sample, or for each epoch of repeated samples."""
    log = _of_inspect(path, lambda log: log.read_eval_log(str(path), header_only=True))
    if log.status == "started":
        raise InputError(f"{path} is of an evaluation that has not finished; wait for it")
    is_repeated = (log.eval.config.epochs or 1) > 1
    model = log.eval.model.removeprefix(NO_MODEL)
    return RecordTable(INSPECT_COLUMNS, partial(_read_samples, path, model, is_repeated))


def _read_samples(
    path: Path, model: str, is_repeated: bool, _needed: Sequence[str]
) -> Iterator[Record]:
    samples = _of_inspect(
        path, lambda log: log.read_eval_log_samples(str(path), all_samples_required=False)
    )
    number = 0
    while sample := _of_inspect(path, lambda _: next(samples, None)):
        number += 1
        targets = [sample.target] if isinstance(sample.target, str) else list(sample.target)
        values = {
            "id": f"{sample.id} epoch {sample.epoch}" if is_repeated else str(sample.id),
            "input": sample.input if isinstance(sample.input, str) else None,
            "target": targets[0] if len(targets) == 1 else targets,
            "output": sample.output.completion,
            "model": model,
        }
        yield Record(number, values)


def _of_inspect(path: Path, reader: Callable[[Any], Any]) -> Any:
    try:
        from inspect_ai import log
    except ImportError as error:
        raise MissingDependency(
            f"{path} is a log of inspect_ai, which reads it: {pip_install('inspect')}"
        ) from error
    try:
        return reader(log)
    except Exception as error:  # of zip, zstd, JSON, pydantic and others
        raise InputError(f"{path} is not a whole log of inspect_ai: {reason_of(error)}") from error
