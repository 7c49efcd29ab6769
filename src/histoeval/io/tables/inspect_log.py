"""A log of inspect_ai as a table: the id, the target and the output of each sample, and the model.

inspect_ai itself reads the log (extra `inspect`), one sample at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, MissingDependency, pip_install, reason_of
from histoeval.io.tables.formats import Record, RecordTable

COLUMNS = ("id", "input", "target", "output", "model")

NO_MODEL = "none/"
"""What stands before the name of a system that inspect_ai cannot ask."""

_START = re.compile(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"\w+"\s*,\s*"eval"\s*:')


def is_inspect_log(path: Path) -> bool:
    """Whether a JSON file is a log of inspect_ai, by how it begins."""
    with path.open("rb") as file:
        return _START.match(file.read(400)) is not None


def open_inspect_log(path: Path) -> RecordTable:
    """A table with a row for each sample; where samples were repeated, for each epoch of them."""
    log = _reading(path, lambda log: log.read_eval_log(str(path), header_only=True))
    if log.status == "started":
        raise InputError(f"{path} is of an evaluation that has not finished; wait for it")
    repeated = (log.eval.config.epochs or 1) > 1
    return RecordTable(
        COLUMNS, partial(_read, path, log.eval.model.removeprefix(NO_MODEL), repeated)
    )


def _read(path: Path, model: str, repeated: bool, _needed: Sequence[str]) -> Iterator[Record]:
    samples = _reading(
        path, lambda log: log.read_eval_log_samples(str(path), all_samples_required=False)
    )
    number = 0
    while sample := _reading(path, lambda _: next(samples, None)):
        number += 1
        values = {
            "id": f"{sample.id} epoch {sample.epoch}" if repeated else str(sample.id),
            "input": sample.input if isinstance(sample.input, str) else None,
            "target": _target(sample.target),
            "output": sample.output.completion,
            "model": model,
        }
        yield Record(number, values, None)


def _target(target: str | Sequence[str]) -> object:
    """The text of a target; several are left as they are."""
    if isinstance(target, str):
        return target
    return target[0] if len(target) == 1 else list(target)


def _reading(path: Path, read: Any) -> Any:
    """What is read from a log; whatever inspect_ai says of a damaged one, in a sentence."""
    try:
        from inspect_ai import log
    except ImportError as error:
        raise MissingDependency(
            f"{path} is a log of inspect_ai, which reads it: {pip_install('inspect')}"
        ) from error
    try:
        return read(log)
    except Exception as error:  # of zip, zstd, JSON, pydantic and others
        raise InputError(f"{path} is not a whole log of inspect_ai: {reason_of(error)}") from error
