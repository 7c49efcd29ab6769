"""One resumable run over rows, the same for every verb; a verb is a `Job`.

The request is checked against what the store holds; rows that a stopped run has finished are
replayed against the input; an engine works on the rest in blocks; their results are written in the
order of the input, counted and reported; the summary comes last.
"""

import os
from abc import ABC
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypedDict, TypeVar

from pydantic import ValidationError

from histoeval.errors import TRACEBACK, EndpointError, HistoEvalError, OutputError, Problem
from histoeval.io.finished_run import without_texts
from histoeval.io.store import RowStore, not_of_input
from histoeval.io.writing import protecting, writing_to
from histoeval.progress import ignore
from histoeval.run.engines.engine import (
    BLOCK_CHARACTERS,
    INLINE,
    Block,
    Blocks,
    BlockSpool,
    Engine,
    Finished,
    In,
    Out,
    RowSource,
    Task,
)
from histoeval.run.history import note_command
from histoeval.run.totals import RowCount
from histoeval.version import __version__

T = TypeVar("T")
A = TypeVar("A")

# Called with the rows done, those of them with errors, and the bytes of the input read.
Watch = Callable[[int, int, int], None]


class RunOptions(TypedDict, total=False):
    overwrite: bool
    watch: Watch
    engine: Engine
    texts: bool


class RunResult(NamedTuple, Generic[Out]):
    summary: dict[str, Any]
    rows: Iterable[Out]
    rows_done: int
    seconds: float


class OrderedResults(Generic[Out]):
    """The rows of a run: in memory, or in a store, where early blocks wait in a spool."""

    def __init__(
        self,
        add: Callable[[Out], None],
        store: RowStore[Out] | None = None,
        spool: BlockSpool | None = None,
        done: int = 0,
    ) -> None:
        self._add = add
        self._store = store
        self.spool = spool
        self._next = done
        self._memory: list[Out] = []
        self.rows: Iterable[Out] = self._memory if store is None else store
        self._early: dict[int, Finished[Out]] = {}
        spooled = [] if spool is None else spool.blocks(done)
        for block in spooled:
            self._early[max(done, block.start)] = Finished(block.start, len(block), None)
        self.arrived = done + sum(block.stop - max(done, block.start) for block in spooled)
        self.finished = [range(done), *spooled]
        self._write_early()

    def take(self, block: Finished[Out]) -> None:
        """Write the results of a block, or keep them until those before it have come."""
        self.arrived += block.length
        if block.start == self._next and block.rows is not None:
            self._write(block.rows, block.length)
        elif self.spool is None or self._store is None or block.rows is None:
            self._early[block.start] = block
        else:
            with writing_to(self._store.home):
                self.spool.put(block.start, block.rows)
            self._early[block.start] = block._replace(rows=None)
        self._write_early()

    def close(self) -> None:
        if self._early:
            raise HistoEvalError(
                f"the results of row {self._next + 1:,} never came; run the same command again"
            )
        if self.spool is not None:
            self.spool.clear()

    def _write_early(self) -> None:
        while (block := self._early.pop(self._next, None)) is not None:
            if block.rows is None:
                self._write_spooled(range(block.start, block.start + block.length))
            else:
                self._write(block.rows, block.length)

    def _write(self, rows: Sequence[Out], length: int) -> None:
        if self._store is None:
            self._memory.extend(rows)
        else:
            self._store.write(rows)
        self._next += length
        for row in rows:
            self._add(row)

    def _write_spooled(self, block: range) -> None:
        """Write a block from the spool, or the rest of one that a killed run had begun to write."""
        assert self._store is not None
        assert self.spool is not None
        with writing_to(self._store.home):
            lines = self.spool.lines(block)[self._next - block.start :]
        rows = [self._store.read(line) for line in lines]
        self._store.write_lines(lines)
        self._next = block.stop
        for row in rows:
            self._add(row)
        self.spool.file(block).unlink(missing_ok=True)


class TextlessTask(Task[Any, Any]):
    """Wrap a task so that its results hold no word of a report: `--no-texts`."""

    def __init__(self, task: Task[Any, Any]) -> None:
        self.task = task
        self.parallel = task.parallel
        self.on_gpu, self.shares_gpu = task.on_gpu, task.shares_gpu
        self.name, self.small = task.name, task.small

    def work(self, rows: Sequence[Any]) -> Sequence[Any]:
        return [without_texts(row) for row in self.task.work(rows)]

    def failed(self, row: Any, problem: Problem) -> Any:
        return without_texts(self.task.failed(row, problem))

    def examples(self) -> Sequence[Any]:
        return self.task.examples()

    def ahead(self, blocks: Iterable[Block[Any]]) -> AbstractContextManager[Iterable[Block[Any]]]:
        return self.task.ahead(blocks)

    def take_usage(self) -> Any:
        return self.task.take_usage()


class Job(ABC, Generic[In, Out]):
    """The work of one verb on rows of input.

    Its task may run anywhere. Everything else is called in the process that writes, in the order
    of the input.
    """

    task: Task[In, Out]
    # How many rows are worked on together at most, if the user does not choose a number.
    block_rows = 256
    block_characters = BLOCK_CHARACTERS

    def __init__(self, source: RowSource[In], block_rows: int | None = None) -> None:
        self.source = source
        self.tally = RowCount()
        self._chosen_rows = block_rows
        self.texts = True

    def run(
        self,
        store: RowStore[Out] | None = None,
        *,
        overwrite: bool = False,
        watch: Watch = ignore,
        conclude: Callable[[dict[str, Any]], None] = ignore,
        engine: Engine = INLINE,
        texts: bool = True,
    ) -> RunResult[Out]:
        """Run the job; with a store, rows are written as they are finished, and a run resumes.

        Without a store the rows are held in memory; with one they are read from it again.
        `conclude` is called with the summary while the store is still locked, for further files.
        Without `texts` no word of a report is in the results.
        """
        if not texts:
            self.texts, self.task = False, TextlessTask(self.task)
        with (
            protecting(getattr(self.source, "files", ())),
            nullcontext() if store is None else store.opened(self.request(), overwrite=overwrite),
        ):
            if store is not None:
                note_command(store.home)
            results = self._resumed(store, overwrite=overwrite)
            rows_before, started = self.tally.rows, perf_counter()
            blocks = Blocks(
                self.source,
                self.block_rows if self._chosen_rows is None else self._chosen_rows,
                self._chosen_rows is not None,
                results.finished,
                self.block_characters,
            )
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
        return RunResult(summary, results.rows, self.tally.rows - rows_before, seconds)

    def charge(self, usage: Any) -> None:
        """Add the cost of some rows, as returned by `Task.take_usage`."""

    def keep_texts(self, store: RowStore[Out]) -> None:
        """Store the texts that a page shows beside the rows; most verbs keep none."""

    def request(self) -> dict[str, Any]:
        """Return the identity of a run: the input and everything that the results depend on."""
        text_setting = {} if self.texts else {"texts": False}
        return {
            "histoeval": __version__,
            **self.source.identity(),
            **self._settings(),
            **text_setting,
        }

    def summary(self) -> dict[str, Any]:
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
        """Return everything that the results depend on beside the input."""
        return {}

    def _totals(self) -> dict[str, Any]:
        """Return entries of the summary beside the numbers of rows and errors."""
        return {}

    def _is_result(self, row: Out, source_row: In) -> bool:
        return row.id == getattr(source_row, "id", None)

    def _add(self, row: Out) -> None:
        self.tally.count(getattr(row, "errors", ()))

    def _resumed(self, store: RowStore[Out] | None, *, overwrite: bool) -> OrderedResults[Out]:
        if store is None:
            return OrderedResults(self._add)
        spool = BlockSpool(store.path, self.request())
        if overwrite:
            spool.clear()
        source_rows = self.source.rows()
        done_count = 0
        for row in store:
            done_count += self._check(row, source_rows, store.stored)
            self._add(row)
        checked_count = done_count
        for block in spool.blocks(done_count):
            first_row = max(block.start, checked_count)
            deque(islice(source_rows, first_row - checked_count), maxlen=0)
            for line in spool.lines(block)[first_row - block.start :]:
                self._check(store.read(line), source_rows, store.path)
            checked_count = block.stop
        return OrderedResults(self._add, store, spool, done_count)

    def _check(self, row: Out, rows: Iterator[In], path: Path) -> int:
        """Refuse a result that is not of the next input row; return the number of rows used."""
        source_row = next(rows, None)
        if source_row is None or not self._is_result(row, source_row):
            raise not_of_input(row.id, path)
        return 1


def answers(
    ask: Callable[[Sequence[T]], Sequence[A]], items: Sequence[T], failed: Callable[[str], Problem]
) -> list[A | Problem]:
    """Return an answer for each item; a failing batch is asked item by item, to find the culprit.

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
    """Describe an error on one line; of a validation error, the first field."""
    if isinstance(error, MemoryError):
        return "MemoryError: this machine has not enough memory for this text"
    if not isinstance(error, ValidationError):
        return f"{type(error).__name__}: {error}"
    detail = error.errors()[0]
    field = ".".join(map(str, detail["loc"]))
    if detail["type"] == "missing":
        hint = ": pass signature=self.signature" if field == "signature" else ""
        return f"{error.title} was made without {field!r}{hint}"
    return f"{field!r} of {error.title} is {detail['input']!r:.60}: {detail['msg'].lower()}"
