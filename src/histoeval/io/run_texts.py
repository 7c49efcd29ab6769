"""The texts that a run was made on, kept beside its rows so that a page can show them.

`DIR/texts.jsonl` has one line for each row of the results, in the same order: `id`, and the texts
by name (`reference` and `candidate`, or `report`), null where the input had none. It is written
just before the summary, so a finished run has all of it. Where rows are compressed or in Parquet,
it is `DIR/texts.jsonl.gz`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from histoeval.errors import InputError, OutputError
from histoeval.io.row_files import FORMS, in_form, stored_as, whole_lines
from histoeval.io.store import read_lines
from histoeval.io.writing import remove, writing_to

T = TypeVar("T")

TEXTS = "texts.jsonl"
KEEP = "HISTOEVAL_KEEP_TEXTS"
"""Set this in the environment to 0 where results must not hold whole reports."""

RowTexts = Mapping[str, str | None]
"""Of one row: its id, and its texts by name."""


def write_texts(folder: Path, rows: Iterable[RowTexts], *, packed: bool = False) -> None:
    """Write the texts of all rows of a run, in their order, unless they are not to be kept."""
    kept = None if os.environ.get(KEEP) == "0" else in_form(folder / TEXTS, FORMS[packed])
    with writing_to(folder):
        if kept is not None:
            with whole_lines(kept) as file:
                for row in rows:
                    line = json.dumps(row, ensure_ascii=False) + "\n"
                    file.write(line.encode("utf-8", "backslashreplace"))
        for other in (in_form(folder / TEXTS, form) for form in FORMS[:2]):
            if other != kept:
                remove(other)


def has_texts(folder: Path) -> bool:
    """Whether a run has its texts beside it; runs of earlier versions have not."""
    return stored_as(folder / TEXTS).is_file()


def read_texts(folder: Path) -> Iterator[dict[str, Any]]:
    """The texts of all rows of a run, in their order."""
    return read_finished_lines(stored_as(folder / TEXTS), _texts)


def read_finished_lines(path: Path, read: Callable[[bytes], T]) -> Iterator[T]:
    """The rows of a run that is only looked at: nothing of it is to be overwritten."""
    try:
        yield from read_lines(path, read)
    except OutputError as error:
        reason = str(error).partition(";")[0]
        raise InputError(f"{reason}: the run is damaged; run it again") from error


def _texts(line: bytes) -> dict[str, Any]:
    texts = json.loads(line)
    if not isinstance(texts, dict):
        raise ValueError("not the texts of a row")
    return texts


def beside(rows: Iterable[dict[str, Any]], folder: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each row of a run with its texts; with None where the run has none.

    Rows and texts are of one order, which is checked by their ids.
    """
    if not has_texts(folder):
        yield from ((row, None) for row in rows)
        return
    texts = read_texts(folder)
    for row in rows:
        found = next(texts, None)
        if found is None or found.get("id") != row.get("id"):
            raise OutputError(
                f"{folder / TEXTS} does not fit the results beside it: run the same command again"
            )
        yield row, found
