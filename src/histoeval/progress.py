"""Progress for people who watch, silence for everyone else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    pass

PATIENCE_S = 2.0
"""What takes less time than this needs no bar."""


class Tell(Protocol):
    """Hears how many steps are done, and what there is to say of the last one."""

    def __call__(self, done: int, note: str = "") -> None:
        """Show it to whoever watches."""


class NamedFile(Protocol):
    """What is read: its name, and its size in bytes, 0 where that is unknown."""

    @property
    def name(self) -> str:
        """As it is shown."""

    @property
    def size(self) -> int:
        """In bytes on disk."""


def ignore(*_: object) -> None:
    """The default of callbacks that report progress: nothing is shown."""


@contextmanager
def row_progress(
    source: NamedFile, act: str = "scoring"
) -> Iterator[Callable[[int, int, int], None]]:
    """A bar on stderr during the work, if stderr is a terminal; it leaves nothing behind."""
    if not sys.stderr.isatty():
        yield lambda rows, errors, position: None  # noqa: ARG005
        return
    from rich.console import Console
    from rich.progress import (
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
        task = bar.add_task(f"{act} {source.name}", total=source.size or None, rows=0, errors=0)

        def watch(rows: int, errors: int, position: int) -> None:
            """Rows and errors beside how much of the file is read."""
            bar.update(task, completed=position, rows=rows, errors=errors)

        yield watch


@contextmanager
def step_progress(description: str, total: int) -> Iterator[Tell]:
    """A bar on stderr for so many steps, if stderr is a terminal and they take their time.

    It leaves nothing behind::

        with step_progress("training", steps) as tell:
            tell(done, f"loss {loss:.3f}")
    """
    if not sys.stderr.isatty():
        yield _tell_nobody
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}", markup=False),
        TimeRemainingColumn(),
    )
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(description, total=total, note="")
    began = monotonic()

    def tell(done: int, note: str = "") -> None:
        """Move the bar, which is shown only to those who have waited a while."""
        bar.update(task, completed=done, note=note)
        if monotonic() - began >= PATIENCE_S:
            bar.start()

    try:
        yield tell
    finally:
        bar.stop()


def _tell_nobody(done: int, note: str = "") -> None:
    """For those who do not watch."""
