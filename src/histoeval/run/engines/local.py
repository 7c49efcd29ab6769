"""All cores of this machine: worker processes of one thread each, fed with blocks.

A worker is sent a task, and then rows, as pickles, and answers in the same way. `serve.py` is its
own side.

Models are loaded once and shared in memory: `ForkServer` is a fresh interpreter which has loaded
the task and worked on a made-up row, and is asked for workers over a socket. It must have one
thread, beside that of an allocator which survives a fork, and no GPU; where it cannot be forked,
each worker is a fresh interpreter and loads its own models. `multiprocessing` has the like, which
is not used: its fork server loads modules and no task, is one for the whole process, and runs a
script without a main guard again; its executor ends all workers where one has died.
"""

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from itertools import chain
from threading import Lock
from typing import Any, BinaryIO, Generic, NamedTuple

from histoeval.argument_names import current_caller
from histoeval.errors import HistoEvalError, Problem, SettingError
from histoeval.run.engines.engine import (
    FIRST_ROWS,
    INLINE,
    Block,
    Blocks,
    BlockSpool,
    Engine,
    Finished,
    In,
    Out,
    Task,
    demand_workers,
)
from histoeval.runtime.memo import PROCESSES
from histoeval.runtime.shared_device import OWNER, DeviceQuestion, KeptTensors
from histoeval.runtime.threads import LIMIT, cores

WORKER_ENV = {
    LIMIT: "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # malloc of Linux: freed memory goes back to the system sooner, which costs no time here
    "MALLOC_MMAP_THRESHOLD_": f"{1 << 20}",
    "MALLOC_TRIM_THRESHOLD_": f"{16 << 20}",
}

FALSE_STARTS = 3  # how often in a row a worker may end before its models are loaded
# how often rows may kill their worker before they are tried one by one, and then given up
TRIES = 2


class WorkerDied(Exception):  # noqa: N818 - it says what has happened
    """The process has ended without an answer."""


class AnswerLost(Exception):  # noqa: N818 - it says what has happened
    """Results cannot be pickled, or not be read again."""


class StoppedError(HistoEvalError):
    """The run has ended while a block was worked on."""


class WorkerAnswer(NamedTuple):
    rows: Sequence[Any]
    usage: Sequence[Any]
    seconds: float


def packed(task: Task[Any, Any]) -> bytes:
    try:
        content = pickle.dumps(task)
        if b"__main__" in content:
            raise ValueError("something in it is defined in the script itself")
    except Exception as error:  # pickle raises whatever the objects do
        raise SettingError(
            f"{task.name!r} cannot be sent to another process: {error}. Define classes in a module "
            "that can be imported, or use --engine inline"
        ) from error
    return pickle.dumps((list(sys.path), current_caller(), content))


class Worker:
    """The other end of a worker process; several threads may end it.

    Args:
        rows_out: what it reads.
        answers_in: what it writes.
        kill: kills the process, if it is still there, and returns its exit code, which is negative
            where a signal has ended it, and None where nobody knows.
        package: the task, if it has to be sent one.
    """

    def __init__(
        self,
        rows_out: BinaryIO,
        answers_in: BinaryIO,
        kill: Callable[[], int | None],
        package: bytes | None = None,
    ) -> None:
        self._channels = rows_out, answers_in
        self._kill = kill
        self._package = package
        self._lock = Lock()
        self._tensors = KeptTensors()
        self.ending = ""

    @property
    def has_begun(self) -> bool:
        return self._package is None

    def begin(self) -> bool:
        """Send the task and wait until it is loaded; True if workers can be forked of it."""
        if self._package is None:
            return False
        can_be_forked: bool = self._ask(self._package)
        self._package = None
        return can_be_forked

    def work(self, rows: Sequence[Any]) -> WorkerAnswer:
        self.begin()
        answer: WorkerAnswer = self._ask(pickle.dumps(rows))
        return answer

    def end(self) -> str:
        """Kill the process and describe how it ended."""
        with self._lock:
            if not self.ending:
                self.ending = _in_words(self._kill())
        for channel in self._channels:
            with suppress(OSError):  # what was not sent cannot be any more
                channel.close()
        return self.ending

    def _ask(self, message: bytes) -> Any:
        """Send a message and return the answer; serve GPU requests of the worker meanwhile."""
        rows_out, answers_in = self._channels
        try:
            while True:
                rows_out.write(message)
                rows_out.flush()
                answer = self._tensors.read(answers_in)
                if not isinstance(answer, DeviceQuestion):
                    break
                message = OWNER.reply(answer, self._tensors)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerDied(self.end()) from error
        except Exception as error:
            is_closed = answers_in.closed  # by another thread
            ending = self.end()  # the rest of this answer would be taken for the next
            if is_closed:
                raise WorkerDied(ending) from error
            raise AnswerLost(f"{type(error).__name__}: {error}") from error
        if isinstance(answer, Exception):
            raise answer
        return answer


def _in_words(code: int | None) -> str:
    if code is None:
        return "the process that it was forked of has ended"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def spawn(package: bytes, workers: int = 1, control: int | None = None) -> Worker:
    """Start a fresh interpreter as one of some workers; with a socket it may be forked.

    It does not matter what threads, locks or GPUs this process has, nor whether it is a script
    without `if __name__ == "__main__"`.
    """
    sockets = [] if control is None else [control]
    modules = {"PYTHONPATH": os.pathsep.join(filter(None, map(os.fspath, sys.path)))}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "histoeval.run.engines.serve", *map(str, sockets)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | WORKER_ENV | {PROCESSES: str(workers)} | modules,
        pass_fds=sockets,
    )

    def kill() -> int:
        process.kill()
        return process.wait()

    rows_out, answers_in = process.stdin, process.stdout
    process.stdin = process.stdout = None  # a worker that is forgotten ends with its channels
    return Worker(rows_out, answers_in, kill, package)  # type: ignore[arg-type]


class ForkServer:
    def __init__(self, package: bytes, workers: int) -> None:
        self._control, child_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with child_socket:
            self.process = spawn(package, workers, child_socket.fileno())
        self._lock = Lock()

    def fork(self) -> Worker:
        rows_in, rows_out = os.pipe()
        answers_in, answers_out = os.pipe()
        try:
            pid = self._ask(b"fork", rows_in, answers_out)
        finally:
            os.close(rows_in)
            os.close(answers_out)

        def kill() -> int | None:
            return None if pid is None else self._ask(b"%d" % pid)

        worker = Worker(os.fdopen(rows_out, "wb"), os.fdopen(answers_in, "rb"), kill)
        if pid is None:
            self.end()
            raise WorkerDied(worker.end())
        return worker

    def end(self) -> None:
        self.process.end()
        self._control.close()

    def _ask(self, message: bytes, *channels: int) -> int | None:
        """Return the answer to a request; None if the server has ended."""
        with self._lock, suppress(OSError):
            socket.send_fds(self._control, [message], channels)
            if answer := self._control.recv(32):
                return int(answer)
        return None


class WorkerSlot(Generic[In, Out]):
    """One worker process, restarted when it dies.

    The rows that it was working on are tried again, at last one by one, so that a row that kills
    its worker costs itself and no other row.
    """

    def __init__(self, failed: Callable[[In, Problem], Out], start: Callable[[], Worker]) -> None:
        self._failed = failed
        self._start = start
        self._worker: Worker | None = None
        self._is_stopped = False

    def work(self, rows: Sequence[In]) -> WorkerAnswer:
        tries, false_starts = TRIES, 0
        code, reason = "worker_died", ""
        while tries:
            try:
                return self._running().work(rows)
            except WorkerDied as death:
                had_begun = self._worker is not None and self._worker.has_begun
                self._worker = None
                if had_begun:
                    tries, false_starts = tries - 1, 0
                elif (false_starts := false_starts + 1) == FALSE_STARTS:
                    raise HistoEvalError(
                        f"a worker process has ended {FALSE_STARTS} times before it could begin "
                        f"({death}): what it wrote stands above; --engine inline does without "
                        "processes"
                    ) from death
                reason = f"the process that worked on this row has died {TRIES} times ({death})"
            except AnswerLost as loss:
                code, tries = "answer_lost", 0
                reason = f"the results of this row cannot be sent from process to process ({loss})"
        if len(rows) == 1:
            problem = Problem(code, f"{reason}; the row is left out, the others are not")
            return WorkerAnswer([self._failed(rows[0], problem)], [], 0.0)
        answers = [self.work([row]) for row in rows]
        return WorkerAnswer(
            [row for answer in answers for row in answer.rows],
            [usage for answer in answers for usage in answer.usage],
            sum(answer.seconds for answer in answers),
        )

    def stop(self) -> None:
        """Kill the process, also while it works for another thread."""
        self._is_stopped = True
        if (worker := self._worker) is not None:
            worker.end()

    def _running(self) -> Worker:
        if self._worker is not None and self._worker.ending:
            self._worker = None
        if not self._is_stopped and self._worker is None:
            self._worker = self._start()
        if self._is_stopped or self._worker is None:
            self.stop()
            raise StoppedError("the run was stopped")
        return self._worker


class WorkerPool(Generic[In, Out]):
    """Some workers, each with a thread that waits for it."""

    def __init__(self, task: Task[In, Out], package: bytes, workers: int) -> None:
        self._package = package
        self._workers = workers
        can_be_forked = task.shares_gpu or not task.on_gpu
        self._is_forking = sys.platform == "linux" and can_be_forked and bool(task.examples())
        self._server: ForkServer | None = None
        self._lock = Lock()
        self._is_stopped = False
        self.slots = [WorkerSlot(task.failed, self.start) for _ in range(workers)]
        self._free = list(self.slots)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="histoeval-worker")

    def __enter__(self) -> "WorkerPool[In, Out]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all processes, also a fork server that is still loading models."""
        for slot in self.slots:
            slot.stop()
        self._is_stopped = True
        if (server := self._server) is not None:
            server.end()
        self._threads.shutdown()

    def work(self, blocks: Iterable[Block[In]]) -> Iterator[tuple[Block[In], WorkerAnswer]]:
        """Yield each block with its answer as it finishes; few blocks are read ahead."""
        waiting: dict[Future[WorkerAnswer], Block[In]] = {}

        def finished() -> Iterator[tuple[Block[In], WorkerAnswer]]:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                yield waiting.pop(future), future.result()

        try:
            for block in blocks:
                waiting[self._threads.submit(self._work, block.rows)] = block
                if len(waiting) >= 2 * self._workers:
                    yield from finished()
            while waiting:
                yield from finished()
        finally:  # nobody waits for these any more
            for future in waiting:
                future.cancel()

    def _work(self, rows: Sequence[In]) -> WorkerAnswer:
        slot = self._free.pop()
        try:
            return slot.work(rows)
        finally:
            self._free.append(slot)

    def start(self) -> Worker:
        """Start a worker; raise `WorkerDied` if the fork server has ended."""
        with self._lock:
            if self._is_forking and (server := self._server or self._fork_server()):
                try:
                    return server.fork()
                except WorkerDied:
                    self._server = None
                    raise
        if self._is_stopped:
            raise StoppedError("the run was stopped")
        return spawn(self._package, self._workers)

    def _fork_server(self) -> ForkServer | None:
        """Start the fork server; None, now and later, if it cannot be forked."""
        server = self._server = ForkServer(self._package, self._workers)
        with suppress(WorkerDied):
            if not self._is_stopped and server.process.begin():
                return server
        server.end()
        self._server, self._is_forking = None, False
        return None


# --- the engine ----------------------------------------------------------------------------------

BLOCK_S = 0.5  # how long a block should take: long beside sending it, short beside the whole run

# A block may take so long for the sake of so many rows: neighbours share texts, and models are
# faster on several.
FEW_ROWS, FEW_ROWS_S = 4, 2.0


class LocalEngine(Engine):
    name = "local"

    def __init__(self, workers: int | None = None, *, demanded: bool = True) -> None:
        self._workers = None if workers is None else demand_workers(workers)
        self._demanded = demanded

    def run(
        self, task: Task[In, Out], blocks: Blocks[In], spool: BlockSpool | None
    ) -> Iterator[Finished[Out]]:
        """Yield results in the order in which they finish.

        What more processes would not speed up is done in this one: small inputs, what a server
        does and, if no number of workers is given, what a GPU does that they cannot share. So is
        what cannot be sent to another process, unless this engine was asked for.
        """
        has_own_gpu = task.on_gpu and not task.shares_gpu
        is_alone = self._workers is None and (has_own_gpu or cores() == 1)
        if not task.parallel or is_alone:
            yield from INLINE.run(task, blocks, spool)
            return
        max_rows = blocks.rows
        if not blocks.is_fixed:
            blocks.rows = min(max_rows, FIRST_ROWS)
        remaining = iter(blocks)
        first_blocks: list[Block[In]] = []
        while sum(len(block.rows) for block in first_blocks) <= task.small and (
            block := next(remaining, None)
        ):
            first_blocks.append(block)
        is_small = sum(len(block.rows) for block in first_blocks) <= task.small
        package = None
        try:
            if self._demanded or not is_small:
                package = packed(task)
        except SettingError:
            if self._demanded:
                raise
        if package is None:
            blocks.rows = max_rows
            yield from INLINE.run(task, chain(first_blocks, remaining))
            return
        with WorkerPool(task, package, self._workers or cores()) as pool:
            for block, answer in pool.work(chain(first_blocks, remaining)):
                if not blocks.is_fixed:
                    blocks.rows = next_rows(len(block.rows), answer.seconds, max_rows)
                yield Finished(
                    block.start, len(block.rows), answer.rows, block.position, answer.usage
                )


def next_rows(rows: int, seconds: float, limit: int) -> int:
    speed = rows / max(seconds, 1e-6)
    target = max(speed * BLOCK_S, min(FEW_ROWS, speed * FEW_ROWS_S))
    return max(1, min(limit, round(min(max(target, rows / 2), rows * 2))))
