"""One resumable run over rows, the same for every verb; a verb is a `Job`.

The request is checked against what the store holds; rows that a stopped run has finished are
replayed against the input; an engine works on the rest in blocks; their results are written in the
order of the input, counted and reported; the summary comes last.
"""

import os
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic import ValidationError

from histoeval.errors import TRACEBACK, EndpointError, OutputError, Problem
from histoeval.io.store import RowStore, not_of_input
from histoeval.io.writing import protecting
from histoeval.run.engines.engine import (
    BLOCK_CHARACTERS,
    INLINE,
    Blocks,
    BlockSize,
    Engine,
    In,
    Out,
    RowSource,
    Task,
)
from histoeval.run.engines.ordered_results import Counted, OrderedResults
from histoeval.run.engines.spool import Spool
from histoeval.run.history.commands import note_command
from histoeval.run.textless import TextlessTask
from histoeval.run.totals import RowCount
from histoeval.version import __version__

T = TypeVar("T")
A = TypeVar("A")

Watch = Callable[[int, int, int], None]
"""Called with the rows done, those of them with errors, and the bytes of the input read."""


def no_progress(rows: int, errors: int, position: int) -> None:
    """Report nothing."""


def no_more(summary: dict[str, Any]) -> None:
    """Write nothing beside the rows and the summary."""


class RunResult(NamedTuple, Generic[Out]):
    """The summary of all rows, the rows themselves, and how many were new in how many seconds."""

    summary: dict[str, Any]
    rows: Iterable[Out]
    rows_done: int
    seconds: float


class Job(ABC, Generic[In, Out]):
    """What one verb does with rows of input.

    Its task may run anywhere. Everything else is called in the process that writes, in the order
    of the input.
    """

    task: Task[In, Out]
    block_rows = 256
    """How many rows are worked on together at most, if the user does not choose a number."""
    block_characters = BLOCK_CHARACTERS

    def __init__(self, source: RowSource[In], block_rows: int | None = None) -> None:
        self.source = source
        self.tally = RowCount()
        self._chosen_rows = block_rows
        self.texts = True

    def leave_out_texts(self) -> None:
        """Have results without any word of a report: `--no-texts`."""
        self.task = TextlessTask(self.task)
        self.texts = False

    def run(
        self,
        store: RowStore[Out] | None = None,
        *,
        overwrite: bool = False,
        watch: Watch = no_progress,
        conclude: Callable[[dict[str, Any]], None] = no_more,
        engine: Engine = INLINE,
    ) -> RunResult[Out]:
        """Run the job; with a store, rows are written as they are finished, and a run resumes.

        Without a store the rows are held in memory; with one they are read from it again.
        `conclude` is called with the summary while the store is still locked, for further files.
        """
        with (
            protecting(getattr(self.source, "files", ())),
            nullcontext() if store is None else store.opened(self.request(), overwrite=overwrite),
        ):
            if store is not None:
                note_command(store.home)
            results = self._resumed(store, overwrite=overwrite)
            before, started = self.tally.rows, perf_counter()
            blocks = Blocks(self.source, self._block_size(), results.finished)
            for block in engine.run(self.task, blocks, results.spool):
                results.take(block)
                for usage in block.usage:
                    self.charge(usage)
                watch(results.arrived, self.tally.failed_rows, block.position)
            results.close()
            summary = self.summary()
            if store is not None:
                if self.texts:
                    self.keep_texts(store)
                store.finish(summary)
            conclude(summary)
        seconds = perf_counter() - started
        return RunResult(summary, results.rows, self.tally.rows - before, seconds)

    def _block_size(self) -> BlockSize:
        chosen = self._chosen_rows
        rows = self.block_rows if chosen is None else chosen
        return BlockSize(rows, self.block_characters, chosen is not None)

    def charge(self, usage: Any) -> None:
        """Take in what some rows have cost, as `Task.take_usage` says it."""

    def keep_texts(self, store: RowStore[Out]) -> None:
        """Write beside the rows what a page shows of the input; most verbs keep nothing."""

    def request(self) -> dict[str, Any]:
        """What makes two runs the same: the input and everything that the results depend on."""
        asked = {} if self.texts else {"texts": False}
        return {"histoeval": __version__, **self.source.identity(), **self._settings(), **asked}

    def summary(self) -> dict[str, Any]:
        """What all results come to."""
        return {
            "input": self.source.description(),
            **self._settings(),
            **({} if self.texts else {"texts": False}),
            "rows": self.tally.rows,
            "rows_with_errors": self.tally.failed_rows,
            **self._totals(),
            "errors": self.tally.errors(),
        }

    def _settings(self) -> dict[str, Any]:
        """Everything that the results depend on beside the input."""
        return {}

    def _totals(self) -> dict[str, Any]:
        """What the summary says beside the numbers of rows and errors."""
        return {}

    def _is_result(self, found: Out, given: In) -> bool:
        """Whether a finished row is the result of this row of the input."""
        return found.id == getattr(given, "id", None)

    def _add(self, row: Out) -> None:
        """Take a result into the tally."""
        self.tally.count(getattr(row, "errors", ()))

    def _resumed(self, store: RowStore[Out] | None, *, overwrite: bool) -> OrderedResults[Out]:
        """What a stopped run has left, checked against the input and counted."""
        if store is None:
            return OrderedResults(self._add)
        spool = Spool(store.path, self.request())
        if overwrite:
            spool.clear()
        given = Counted(self.source.rows())
        for found in self._replay(store, given):
            self._add(found)
        done = given.count
        for block in spool.blocks(done):
            given.skip_to(block.start)
            rows = map(store.read, spool.lines(block)[given.count - block.start :])
            self._check(rows, given, store.path)
        return OrderedResults(self._add, store, spool, done)

    def _replay(self, store: RowStore[Out], rows: Iterator[In]) -> Iterator[Out]:
        """The finished rows, each checked against the row of the input that it is the result of."""
        for found in store:
            self._check([found], rows, store.stored)
            yield found

    def _check(self, results: Iterable[Out], rows: Iterator[In], path: Path) -> None:
        """Refuse results that are not those of the next rows of the input."""
        for found in results:
            given = next(rows, None)
            if given is None or not self._is_result(found, given):
                raise not_of_input(found.id, path)


def answers(
    ask: Callable[[Sequence[T]], Sequence[A]],
    items: Sequence[T],
    failed: Callable[[str], Problem],
) -> list[A | Problem]:
    """An answer for each item; where a batch fails, one by one, so that only the culprit has none.

    `ask` raises where it has not one good answer for each item, and `failed` makes a problem of the
    message. A service that is gone, or a disk that is full, would fail every item, and stops
    the run instead; so does anything that fails while HISTOEVAL_TRACEBACK is set.
    """
    if not items:
        return []
    try:
        return list(ask(items))
    except (EndpointError, OutputError):
        raise
    except (Exception, SystemExit) as error:  # some packages end the process where they should fail
        if len(items) > 1:
            return [answer for item in items for answer in answers(ask, [item], failed)]
        if TRACEBACK in os.environ:
            raise
        return [failed(_in_words(error))]


def _in_words(error: BaseException) -> str:
    """An error on one line; of an object that does not fit its class, the first field."""
    if isinstance(error, MemoryError):
        return "MemoryError: this machine has not enough memory for this text"
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    first = error.errors()[0]
    field = ".".join(map(str, first["loc"]))
    if first["type"] == "missing":
        hint = ": pass signature=self.signature" if field == "signature" else ""
        return f"{error.title} was made without {field!r}{hint}"
    return f"{field!r} of {error.title} is {first['input']!r:.60}: {first['msg'].lower()}"
