"""A worker process, `python -m histoeval.run.engines`, and its other end.

It is sent a task, and then rows, as pickles over its standard input, and answers over its standard
output. It is a fresh interpreter, so it does not matter what threads, locks or GPUs the process
that started it has, nor whether that is a script without `if __name__ == "__main__"`. It computes
with one thread, ignores Ctrl-C, and ends when its input does.
"""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from time import perf_counter
from typing import Any, BinaryIO, NamedTuple

from histoeval.callers import called_from, current_caller
from histoeval.errors import HistoEvalError, SettingError
from histoeval.run.engines.engine import Task
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
END_S = 5.0
"""How long a worker may take to end by itself."""


class WorkerDied(Exception):  # noqa: N818 - it says what has happened
    """The process has ended without an answer."""


class WorkerAnswer(NamedTuple):
    """The results of some rows, what they cost, and the seconds they took."""

    rows: Sequence[Any]
    usage: Sequence[Any]
    seconds: float


class _Refusal(NamedTuple):
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
    """The other end of a worker process."""

    def __init__(self, package: bytes) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "histoeval.run.engines"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self._package: bytes | None = package

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def work(self, rows: Sequence[Any]) -> WorkerAnswer:
        """The results of some rows; `WorkerDied` where there are none."""
        if self._package is not None:
            self._begin(self._package)
        self._send(pickle.dumps(rows))
        answer = self._received()
        assert isinstance(answer, WorkerAnswer)
        return answer

    @property
    def has_begun(self) -> bool:
        """Whether its models were loaded."""
        return self._package is None

    def _begin(self, package: bytes) -> None:
        """Send the task, and wait until its models are loaded."""
        self._send(package)
        self._received()
        self._package = None

    def _received(self) -> Any:
        try:
            answer = pickle.load(self._output)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            raise WorkerDied(self._ending()) from error
        if isinstance(answer, _Refusal):
            raise answer.error
        return answer

    def end(self, *, now: bool = False) -> None:
        """Let the process end when it has finished, or kill it."""
        if now:
            self._process.kill()
        with suppress(OSError):  # it may have gone before
            self._input.close()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._output.close()

    @property
    def _input(self) -> Any:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _output(self) -> Any:
        assert self._process.stdout is not None
        return self._process.stdout

    def _send(self, content: bytes) -> None:
        try:
            self._input.write(content)
            self._input.flush()
        except OSError as error:
            raise WorkerDied(self._ending()) from error

    def _ending(self) -> str:
        """How the process has ended, in words."""
        code = self._process.wait()
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"


def serve(rows_in: BinaryIO, answers_out: BinaryIO) -> None:
    """Load the task, then answer until there is nothing more to read."""
    paths, caller, content = pickle.load(rows_in)
    sys.path[:] = paths
    with nullcontext() if caller is None else called_from(caller):
        try:
            task: Task[Any, Any] = pickle.loads(content)
        except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
            _answer(answers_out, _Refusal(portable(error)))
            return
        _answer(answers_out, None)
        while (rows := _next(rows_in)) is not None:
            _answer(answers_out, _worked(task, rows))


def _next(rows_in: BinaryIO) -> Any:
    try:
        return pickle.load(rows_in)
    except EOFError:
        return None


def _worked(task: Task[Any, Any], rows: Sequence[Any]) -> WorkerAnswer | _Refusal:
    started = perf_counter()
    try:
        results = list(task.work(rows))
        return WorkerAnswer(results, [task.take_usage()], perf_counter() - started)
    except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
        return _Refusal(portable(error))


def _answer(answers_out: BinaryIO, answer: object) -> None:
    pickle.dump(answer, answers_out)
    answers_out.flush()


def portable(error: Exception) -> Exception:
    """An error that can be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001 - pickle raises whatever the error does
        return HistoEvalError(f"{type(error).__name__}: {error}")
    return error


def main() -> None:
    """Keep the two channels for pickles; what libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    rows_in, answers_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        serve(rows_in, answers_out)
    except BrokenPipeError:
        os._exit(1)  # nobody listens any more
