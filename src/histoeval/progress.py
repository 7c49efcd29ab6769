"""Progress bars on stderr if it is a terminal, and nothing otherwise."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn

DELAY_S = 2.0  # a bar for steps appears only after this time


OnStep = Callable[..., None]  # called with the number of steps done and a note on the last one


class NamedFile(Protocol):
    """An input with a name, and its size in bytes (0 if unknown)."""

    @property
    def name(self) -> str:
        """Its name for display."""

    @property
    def size(self) -> int:
        """Bytes on disk."""


def ignore(*_: object, **__: object) -> None:
    """Do nothing: the default of callbacks that report progress."""


@contextmanager
def row_progress(
    source: NamedFile, act: str = "scoring"
) -> Iterator[Callable[[int, int, int], None]]:
    """A transient bar over the rows of a file; yields a callback (rows, errors, position)."""
    if not sys.stderr.isatty():
        yield ignore
        return
    from rich.progress import TextColumn

    with _bar(TextColumn("{task.fields[rows]:,} rows, {task.fields[errors]:,} with errors")) as bar:
        task = bar.add_task(f"{act} {source.name}", total=source.size or None, rows=0, errors=0)
        yield lambda rows, errors, position: bar.update(
            task, completed=position, rows=rows, errors=errors
        )


@contextmanager
def step_progress(description: str, total: int) -> Iterator[OnStep]:
    """A transient bar over steps, shown if they take a while; yields a callback (done, note)."""
    if not sys.stderr.isatty():
        yield ignore
        return
    from rich.progress import MofNCompleteColumn, TextColumn

    bar = _bar(MofNCompleteColumn(), TextColumn("{task.fields[note]}", markup=False))
    task = bar.add_task(description, total=total, note="")
    started = monotonic()

    def on_step(done: int, note: str = "") -> None:
        bar.update(task, completed=done, note=note)
        if monotonic() - started >= DELAY_S:
            bar.start()

    try:
        yield on_step
    finally:
        bar.stop()


def _bar(*details: ProgressColumn) -> Progress:
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    from histoeval.console import Console

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        *details,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # what rich would print in their place is not made visible
        redirect_stderr=False,
    )
