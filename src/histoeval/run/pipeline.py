"""One resumable run over rows, the same for every verb; a verb is a `Job`.

The request is checked against what the store holds; rows that a stopped run has finished are
replayed against the input; the rest goes through `work` in chunks, is written in the order of the
input, counted and reported; the summary comes last.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from histoeval.errors import TRACEBACK, EndpointError, OutputError, Problem
from histoeval.io.store import RowStore, StoredRow, not_of_input
from histoeval.io.writing import protecting
from histoeval.run.totals import RowCount
from histoeval.version import __version__

In = TypeVar("In")
In_co = TypeVar("In_co", covariant=True)
Out = TypeVar("Out", bound=StoredRow)
T = TypeVar("T")
A = TypeVar("A")

Watch = Callable[[int, int, int], None]
"""Called with the rows done, those of them with errors, and the bytes of the input read."""

CHUNK_CHARACTERS = 1_000_000
"""A chunk is closed early when its texts grow past this, so that memory stays flat."""


def no_progress(rows: int, errors: int, position: int) -> None:
    """Report nothing."""


def no_more(summary: dict[str, Any]) -> None:
    """Write nothing beside the rows and the summary."""


class RowSource(Protocol[In_co]):
    """Where the rows of a run come from."""

    def rows(self) -> Iterator[In_co]:
        """Every row, from the start."""

    def identity(self) -> dict[str, Any]:
        """What makes two inputs the same."""

    def description(self) -> Any:
        """The input as a summary shows it."""


class RunResult(NamedTuple, Generic[Out]):
    """The summary of all rows, the rows themselves, and how many were new in how many seconds."""

    summary: dict[str, Any]
    rows: Iterable[Out]
    rows_done: int
    seconds: float


class Job(ABC, Generic[In, Out]):
    """What one verb does with rows of input.

    `work` depends on nothing but the job and the chunk, so it could run anywhere. Everything else
    is called in the process that writes, in the order of the input.
    """

    chunk_rows = 256
    chunk_characters = CHUNK_CHARACTERS

    def __init__(self, source: RowSource[In]) -> None:
        self.source = source
        self.tally = RowCount()

    def run(
        self,
        store: RowStore[Out] | None = None,
        *,
        overwrite: bool = False,
        watch: Watch = no_progress,
        conclude: Callable[[dict[str, Any]], None] = no_more,
    ) -> RunResult[Out]:
        """Run the job; with a store, rows are written as they are finished, and a run resumes.

        Without a store the rows are held in memory; with one they are read from it again.
        `conclude` is called with the summary while the store is still locked, for further files.
        """
        in_memory: list[Out] = []
        with (
            protecting(getattr(self.source, "files", ())),
            nullcontext() if store is None else store.opened(self.request(), overwrite=overwrite),
        ):
            given = self.source.rows()
            for found in () if store is None else self._replay(store, given):
                self._add(found)
            before, started = self.tally.rows, perf_counter()
            coming = chunked(given, self.chunk_rows, self.chunk_characters)
            with self._prefetched(coming) as chunks:
                for chunk in chunks:
                    rows = self.work(chunk)
                    if store is None:
                        in_memory.extend(rows)
                    else:
                        store.write(rows)
                    for row in rows:
                        self._add(row)
                    watch(
                        self.tally.rows, self.tally.failed_rows, getattr(chunk[-1], "position", 0)
                    )
            summary = self.summary()
            if store is not None:
                self.keep_texts(store)
                store.finish(summary)
            conclude(summary)
        seconds = perf_counter() - started
        done = self.tally.rows - before
        return RunResult(summary, in_memory if store is None else store, done, seconds)

    @abstractmethod
    def work(self, chunk: Sequence[In]) -> Sequence[Out]:
        """The results of a chunk, in its order."""

    def keep_texts(self, store: RowStore[Out]) -> None:
        """Write beside the rows what a page shows of the input; most verbs keep nothing."""

    def request(self) -> dict[str, Any]:
        """What makes two runs the same: the input and everything that the results depend on."""
        return {"histoeval": __version__, **self.source.identity(), **self._settings()}

    def summary(self) -> dict[str, Any]:
        """What all results come to."""
        return {
            "input": self.source.description(),
            **self._settings(),
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

    def _replay(self, store: RowStore[Out], rows: Iterator[In]) -> Iterator[Out]:
        """The finished rows, each checked against the row of the input that it is the result of."""
        for found in store:
            given = next(rows, None)
            if given is None or not self._is_result(found, given):
                raise not_of_input(found.id, store.path)
            yield found

    def _prefetched(self, chunks: Iterator[list[In]]) -> AbstractContextManager[Iterable[list[In]]]:
        """The chunks; where something can be begun with before its turn, they are read ahead."""
        return nullcontext(chunks)


def chunked(rows: Iterable[T], max_rows: int, max_characters: int) -> Iterator[list[T]]:
    """Rows in chunks, of fewer rows where they are long, so that memory stays flat."""
    chunk: list[T] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += getattr(row, "characters", 0)
        if len(chunk) >= max_rows or size >= max_characters:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


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
    except Exception as error:
        if len(items) > 1:
            return [answer for item in items for answer in answers(ask, [item], failed)]
        if TRACEBACK in os.environ:
            raise
        return [failed(_in_words(error))]


def _in_words(error: Exception) -> str:
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
