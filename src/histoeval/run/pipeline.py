"""One resumable run over rows, the same for every verb; a verb is a `Job`.

The request is checked against what the store holds; rows that a stopped run has finished are
replayed against the input; the rest goes through `work` in chunks, is written in the order of the
input, counted and reported; the summary comes last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, Generic, NamedTuple, TypeVar

from histoeval.errors import EndpointError, OutputError, Problem
from histoeval.io.store import RowStore, StoredRow, not_of_input
from histoeval.run.totals import RowCount

In = TypeVar("In")
Out = TypeVar("Out", bound=StoredRow)
T = TypeVar("T")
A = TypeVar("A")

Watch = Callable[[int, int, int], None]
"""Called with the rows done, those of them with errors, and the bytes of the input read."""

CHUNK_CHARACTERS = 1_000_000
"""A chunk is closed early when its texts grow past this, so that memory stays flat."""


def no_progress(rows: int, errors: int, position: int) -> None:
    """Report nothing."""


class Job(ABC, Generic[In, Out]):
    """What one verb does with rows of input.

    `work` depends on nothing but the job and the chunk, so it could run anywhere. Everything else
    is called in the process that writes, in the order of the input.
    """

    chunk_rows: int = 256
    chunk_characters: int = CHUNK_CHARACTERS
    tally: RowCount

    @abstractmethod
    def request(self) -> dict[str, Any]:
        """What makes two runs the same: the input and everything that the results depend on."""

    @abstractmethod
    def rows(self) -> Iterator[In]:
        """The input, from the start."""

    @abstractmethod
    def work(self, chunk: Sequence[In]) -> Sequence[Out]:
        """The results of a chunk, in its order."""

    @abstractmethod
    def is_result(self, found: Out, given: In) -> bool:
        """Whether a finished row is the result of this row of the input."""

    @abstractmethod
    def add(self, row: Out) -> None:
        """Take a result into the tally."""

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """What all results come to."""

    def characters(self, given: In) -> int:  # noqa: ARG002 - for jobs whose rows have texts
        """The length of the texts of a row."""
        return 0

    def replay(self, store: RowStore[Out], rows: Iterator[In]) -> Iterator[Out]:
        """The finished rows, each checked against the row of the input that it is the result of."""
        for found in store:
            given = next(rows, None)
            if given is None or not self.is_result(found, given):
                raise not_of_input(found.id, store.path)
            yield found

    def prefetched(self, chunks: Iterator[list[In]]) -> AbstractContextManager[Iterable[list[In]]]:
        """The chunks; where something can be begun with before its turn, they are read ahead."""
        return nullcontext(chunks)


class RunResult(NamedTuple, Generic[Out]):
    """The summary of all rows, the rows themselves, and how many were new in how many seconds."""

    summary: dict[str, Any]
    rows: Iterable[Out]
    rows_done: int
    seconds: float


def run_job(
    job: Job[In, Out],
    store: RowStore[Out] | None = None,
    *,
    overwrite: bool = False,
    watch: Watch = no_progress,
) -> RunResult[Out]:
    """Run a job; with a store, rows are written as they are finished, and a stopped run resumes.

    Without a store the rows are held in memory; with one they are read from it again.
    """
    kept: list[Out] = []
    with nullcontext() if store is None else store.opened(job.request(), overwrite=overwrite):
        given = job.rows()
        if store is not None:
            for found in job.replay(store, given):
                job.add(found)
        before, started = job.tally.rows, perf_counter()
        coming = chunked(given, job.chunk_rows, job.chunk_characters, job.characters)
        with job.prefetched(coming) as chunks:
            for chunk in chunks:
                rows = job.work(chunk)
                if store is None:
                    kept.extend(rows)
                else:
                    store.write(rows)
                for row in rows:
                    job.add(row)
                watch(job.tally.rows, job.tally.failed_rows, getattr(chunk[-1], "position", 0))
        summary = job.summary()
        if store is not None:
            store.finish(summary)
    seconds = perf_counter() - started
    return RunResult(summary, kept if store is None else store, job.tally.rows - before, seconds)


def chunked(
    rows: Iterable[T], max_rows: int, max_characters: int, characters: Callable[[T], int]
) -> Iterator[list[T]]:
    """Rows in chunks, of fewer rows where they are long, so that memory stays flat."""
    chunk: list[T] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += characters(row)
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
    the run instead.
    """
    if not items:
        return []
    try:
        return list(ask(items))
    except (EndpointError, OutputError):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a model does wrong, the run goes on
        if len(items) > 1:
            return [answer for item in items for answer in answers(ask, [item], failed)]
        return [failed(f"{type(error).__name__}: {error}")]
