"""All cores of this machine: worker processes of one thread each, fed with blocks."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain
from typing import Any, Generic

from histoeval.errors import HistoEvalError, Problem, SettingError
from histoeval.run.engines.engine import (
    INLINE,
    Block,
    Blocks,
    BlockSize,
    Engine,
    Finished,
    In,
    Out,
    Task,
    demand_workers,
)
from histoeval.run.engines.fork_server import StoppedError, WorkerSource
from histoeval.run.engines.spool import Spool
from histoeval.run.engines.worker import AnswerLost, Worker, WorkerAnswer, WorkerDied, packed
from histoeval.runtime.threads import cores

FIRST_ROWS = 8
BLOCK_S = 0.5
"""How long a block should take: long beside sending it, short beside the whole run."""

FEW_ROWS, FEW_ROWS_S = 4, 2.0
"""A block may take so long for the sake of so many rows: neighbours share texts, and models are
faster on several."""

FALSE_STARTS = 3
"""How often in a row a worker may end before its models are loaded."""

TRIES = 2
"""How often rows may kill their worker before they are tried one by one, and then given up."""


class Seat(Generic[In, Out]):
    """One worker process, and what is done when it dies.

    The rows that it was working on are tried again, at last one by one, so that a row that kills
    its worker costs itself and no other row.
    """

    def __init__(self, task: Task[In, Out], start: Callable[[], Worker]) -> None:
        self._task = task
        self._start = start
        self._worker: Worker | None = None
        self._stopped = False
        self._false_starts = 0

    def work(self, rows: Sequence[In]) -> WorkerAnswer:
        """The results of some rows."""
        if self._stopped:
            raise StoppedError("the run was stopped")
        tries = TRIES
        code, reason = "worker_died", ""
        while tries:
            try:
                return self._started().work(rows)
            except WorkerDied as death:
                reason = f"the process that worked on this row has died {TRIES} times ({death})"
                tries -= self._left_after_work(str(death))
            except AnswerLost as loss:
                code, tries = "answer_lost", 0
                reason = f"the results of this row cannot be sent from process to process ({loss})"
        if len(rows) > 1:
            return _joined([self.work([row]) for row in rows])
        problem = Problem(code, f"{reason}; the row is left out, the others are not")
        return WorkerAnswer([self._task.failed(rows[0], problem)], [], 0.0)

    def stop(self) -> None:
        """Kill the process, also while it works for another thread."""
        self._stopped = True
        if (worker := self._worker) is not None:
            worker.end()

    def _started(self) -> Worker:
        if self._worker is None or self._worker.has_ended:
            self._worker = self._start()
        if self._stopped:
            self._worker.end()
            raise StoppedError("the run was stopped")
        return self._worker

    def _left_after_work(self, reason: str) -> bool:
        """Leave the worker that has died; whether it has died of its rows, and not at its start."""
        worker, self._worker = self._worker, None
        had_begun = worker is not None and worker.has_begun
        self._false_starts = 0 if had_begun else self._false_starts + 1
        if self._false_starts == FALSE_STARTS:
            raise HistoEvalError(
                f"a worker process has ended {FALSE_STARTS} times before it could begin "
                f"({reason}): what it wrote stands above; --engine inline does without processes"
            )
        return had_begun


def _joined(answers: Sequence[WorkerAnswer]) -> WorkerAnswer:
    """The answers to rows one by one, as one."""
    rows = [row for answer in answers for row in answer.rows]
    usage = [used for answer in answers for used in answer.usage]
    return WorkerAnswer(rows, usage, sum(answer.seconds for answer in answers))


class LocalEngine(Engine):
    """Processes on this machine, as many as it has cores if no number is given."""

    name = "local"

    def __init__(self, workers: int | None = None, *, demanded: bool = True) -> None:
        self._workers = None if workers is None else demand_workers(workers)
        self._demanded = demanded

    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: Spool | None
    ) -> Iterator[Finished[Out]]:
        """The results in the order in which they are finished.

        What more processes would not speed up is done in this one: small inputs, what a server
        does and, if no number of workers is given, what a GPU does that they cannot share. So is
        what cannot be sent to another process, unless this engine was asked for.
        """
        keeps_gpu = task.on_gpu and not task.shares_gpu
        alone = self._workers is None and (keeps_gpu or cores() == 1)
        if not task.parallel or alone:
            yield from INLINE.run(task, blocks, spool)
            return
        limit = blocks.size.rows
        if not blocks.size.fixed:
            blocks.size.rows = min(limit, FIRST_ROWS)
        coming = iter(blocks)
        first, small = _first(coming, task.small)
        package = None if small and not self._demanded else self._packed(task)
        if package is None:
            blocks.size.rows = limit
            yield from _inline(task, chain(first, coming))
            return
        with Crew(task, package, self._workers or cores()) as crew:
            for block, answer in crew.work(chain(first, coming)):
                if not blocks.size.fixed:
                    _adapt(blocks.size, len(block.rows), answer.seconds, limit)
                yield Finished(
                    block.start, len(block.rows), answer.rows, block.position, answer.usage
                )

    def _packed(self, task: Task[Any, Any]) -> bytes | None:
        try:
            return packed(task)
        except SettingError:
            if self._demanded:
                raise
            return None


def _first(blocks: Iterator[Block[In]], small: int) -> tuple[list[Block[In]], bool]:
    """The first blocks, and whether they are all there is of a small input."""
    taken: list[Block[In]] = []
    rows = 0
    for block in blocks:
        taken.append(block)
        rows += len(block.rows)
        if rows > small:
            return taken, False
    return taken, True


def _inline(task: Task[In, Out], blocks: Iterable[Block[In]]) -> Iterator[Finished[Out]]:
    for block in blocks:
        yield Finished(block.start, len(block.rows), task.work(block.rows), block.position)


def _adapt(size: BlockSize, rows: int, seconds: float, limit: int) -> None:
    """Let the next blocks take about as long as they should, at most twice or half as many rows."""
    speed = rows / max(seconds, 1e-6)
    wanted = max(speed * BLOCK_S, min(FEW_ROWS, speed * FEW_ROWS_S))
    size.rows = max(1, min(limit, round(min(max(wanted, rows / 2), rows * 2))))


class Crew(Generic[In, Out]):
    """Some workers, each with a thread that waits for it."""

    def __init__(self, task: Task[In, Out], package: bytes, workers: int) -> None:
        self._workers = workers
        self._source = WorkerSource(task, package, workers)
        self._seats = [Seat(task, self._source.start) for _ in range(workers)]
        self._free = list(self._seats)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="histoeval-worker")

    def __enter__(self) -> "Crew[In, Out]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes."""
        for seat in self._seats:
            seat.stop()
        self._source.stop()
        self._threads.shutdown()

    def work(self, blocks: Iterable[Block[In]]) -> Iterator[tuple[Block[In], WorkerAnswer]]:
        """Each block with its answer as it is finished; few blocks are read ahead."""
        asked: dict[Future[WorkerAnswer], Block[In]] = {}
        try:
            for block in blocks:
                asked[self._threads.submit(self._ask, block.rows)] = block
                if len(asked) >= 2 * self._workers:
                    yield from self._finished(asked)
            while asked:
                yield from self._finished(asked)
        finally:  # nobody waits for these any more
            for future in asked:
                future.cancel()

    def _ask(self, rows: Sequence[In]) -> WorkerAnswer:
        seat = self._free.pop()
        try:
            return seat.work(rows)
        finally:
            self._free.append(seat)

    def _finished(
        self, asked: dict[Future[WorkerAnswer], Block[In]]
    ) -> Iterator[tuple[Block[In], WorkerAnswer]]:
        for future in wait(asked, return_when=FIRST_COMPLETED).done:
            yield asked.pop(future), future.result()
