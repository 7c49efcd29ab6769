"""A worker process, seen from the process that has started it: what it is sent, how it ends.

It is sent a task, and then rows, as pickles, and answers in the same way. `serve.py` is its own
side.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

from histoeval.callers import current_caller
from histoeval.errors import SettingError
from histoeval.run.engines.engine import Task
from histoeval.runtime.memo import PROCESSES
from histoeval.runtime.shared_device import OWNER, DeviceQuestion, KeptTensors
from histoeval.runtime.threads import LIMIT

ONE_THREAD = {
    LIMIT: "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
}

LITTLE_UNUSED = {"MALLOC_MMAP_THRESHOLD_": f"{1 << 20}", "MALLOC_TRIM_THRESHOLD_": f"{16 << 20}"}
"""For malloc of Linux: freed memory goes back to the system sooner, which costs no time here."""


class WorkerDied(Exception):  # noqa: N818 - it says what has happened
    """The process has ended without an answer."""


class AnswerLost(Exception):  # noqa: N818 - it says what has happened
    """Results cannot be pickled, or not be read again."""


class WorkerAnswer(NamedTuple):
    """The results of some rows, what they cost, and the seconds they took."""

    rows: Sequence[Any]
    usage: Sequence[Any]
    seconds: float


class Refusal(NamedTuple):
    """What went wrong with the task itself, and would go wrong with any rows."""

    error: BaseException


def packed(task: Task[Any, Any]) -> bytes:
    """A task as a worker is sent it; `SettingError` where it cannot travel."""
    try:
        content = pickle.dumps(task)
    except Exception as error:  # pickle raises whatever the objects do
        raise _cannot_travel(task, error) from error
    if b"__main__" in content:
        raise _cannot_travel(task, "something in it is defined in the script itself")
    return pickle.dumps((list(sys.path), current_caller(), content))


def _cannot_travel(task: Task[Any, Any], reason: object) -> SettingError:
    return SettingError(
        f"{task.name!r} cannot be sent to another process: {reason}. Define classes in a module "
        "that can be imported, or use --engine inline"
    )


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
        self._rows_out = rows_out
        self._answers_in = answers_in
        self._kill = kill
        self._package = package
        self._lock = Lock()
        self._ending = ""
        self._tensors = KeptTensors()

    def work(self, rows: Sequence[Any]) -> WorkerAnswer:
        """The results of some rows; `WorkerDied` where there are none."""
        self.begin()
        self._send(pickle.dumps(rows))
        answer = self._received()
        assert isinstance(answer, WorkerAnswer)
        return answer

    @property
    def has_begun(self) -> bool:
        """Whether its models were loaded."""
        return self._package is None

    @property
    def has_ended(self) -> bool:
        """Whether its process was ended."""
        return bool(self._ending)

    def begin(self) -> bool:
        """Send the task, and wait until it is loaded; whether workers can be forked of it."""
        if self._package is None:
            return False
        self._send(self._package)
        forks: bool = self._received()
        self._package = None
        return forks

    def end(self) -> str:
        """Kill the process; how it has ended, in words."""
        with self._lock:
            if not self._ending:
                self._ending = _in_words(self._kill())
        for channel in (self._rows_out, self._answers_in):
            with suppress(OSError):  # what was not sent cannot be any more
                channel.close()
        return self._ending

    def _send(self, content: bytes) -> None:
        try:
            self._rows_out.write(content)
            self._rows_out.flush()
        except (OSError, ValueError) as error:  # ValueError: another thread has ended it
            raise WorkerDied(self.end()) from error

    def _received(self) -> Any:
        """The next answer; what the worker asks of the GPU before that is answered."""
        while isinstance(answer := self._next(), DeviceQuestion):
            self._send(OWNER.reply(answer, self._tensors))
        if isinstance(answer, Refusal):
            raise answer.error
        return answer

    def _next(self) -> Any:
        try:
            return self._tensors.read(self._answers_in)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerDied(self.end()) from error
        except Exception as error:
            was_ended = isinstance(error, ValueError) and self._answers_in.closed
            how = self.end()  # the rest of this answer would be taken for the next
            if was_ended:
                raise WorkerDied(how) from error
            raise AnswerLost(f"{type(error).__name__}: {error}") from error


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
    """A fresh interpreter, one of some workers; with a socket it may be forked.

    It does not matter what threads, locks or GPUs this process has, nor whether it is a script
    without `if __name__ == "__main__"`.
    """
    alone = ONE_THREAD | LITTLE_UNUSED | {PROCESSES: str(workers)}
    more = [] if control is None else [control]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "histoeval.run.engines", *map(str, more)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ
        | alone
        | {"PYTHONPATH": os.pathsep.join(filter(None, map(os.fspath, sys.path)))},
        pass_fds=more,
    )

    def kill() -> int:
        process.kill()
        return process.wait()

    rows_out, answers_in = process.stdin, process.stdout
    assert rows_out is not None
    assert answers_in is not None
    process.stdin = process.stdout = None  # a worker that is forgotten ends with its channels
    return Worker(rows_out, answers_in, kill, package)  # type: ignore[arg-type]
