"""Progress for people who watch, silence for everyone else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histoeval.io.pairs import Source


@contextmanager
def row_progress(source: Source) -> Iterator[Callable[[int, int, int], None]]:
    """A bar on stderr while rows are scored, if stderr is a terminal; it leaves nothing behind."""
    if not sys.stderr.isatty():
        yield lambda rows, errors, position: None  # noqa: ARG005
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import (  # noqa: PLC0415
        BarColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[rows]:,} rows, {task.fields[errors]:,} with errors"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"scoring {source.name}", total=source.size or None, rows=0, errors=0)

        def watch(rows: int, errors: int, position: int) -> None:
            bar.update(task, completed=position, rows=rows, errors=errors)

        yield watch
