"""A worker process from inside, `python -m histoeval.run.engines.serve`.

It loads a task and answers rows with results, over its standard input and output. It computes with
one thread, ignores Ctrl-C, and ends when its input does. Where it is given a socket, it may be
asked to fork workers instead, which share its models (`ForkServer`).
"""

import ctypes
import gc
import os
import pickle
import signal
import socket
import stat
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO

from histoeval.argument_names import called_from
from histoeval.run.engines.engine import Task
from histoeval.run.engines.local import AnswerLost, WorkerAnswer
from histoeval.runtime.memo import portable, return_freed_memory
from histoeval.runtime.shared_device import Asker, connect

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux
# the thread of pyarrow's allocator, which starts it again in a child
_SURVIVES_A_FORK = "jemalloc_bg_thd"


def serve(rows_in: BinaryIO, answers_out: BinaryIO, control: socket.socket | None = None) -> None:
    """Load the task, then answer until there is nothing more to read."""
    paths, caller, content = pickle.load(rows_in)
    sys.path[:] = paths
    connect(Asker(rows_in, answers_out))
    with nullcontext() if caller is None else called_from(caller):
        try:
            task: Task[Any, Any] = pickle.loads(content)
        except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
            _answer(answers_out, portable(error))
            return
        can_be_forked = control is not None and _can_be_forked(task, control.fileno())
        _answer(answers_out, can_be_forked)
        if control is not None and can_be_forked:
            rows_in, answers_out = forked(control)
            connect(Asker(rows_in, answers_out))
        with suppress(EOFError):
            while True:
                _answer(answers_out, _worked(task, pickle.load(rows_in)))


def _worked(task: Task[Any, Any], rows: Sequence[Any]) -> WorkerAnswer | Exception:
    started = perf_counter()
    try:
        results = list(task.work(rows))
        return WorkerAnswer(results, [task.take_usage()], perf_counter() - started)
    except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
        return portable(error)


def _answer(answers_out: BinaryIO, answer: object) -> None:
    try:
        content = pickle.dumps(answer)
    except Exception as error:  # noqa: BLE001 - whatever it is, who has asked is told
        content = pickle.dumps(AnswerLost(f"{type(error).__name__}: {error}"))
    answers_out.write(content)
    answers_out.flush()


def _can_be_forked(task: Task[Any, Any], control: int) -> bool:
    """True if everything that rows need was loaded and the process has a single thread.

    Nor may it have a socket, which its workers would read from and write to all at once.
    """
    try:
        task.work(task.examples())
        task.take_usage()
    except Exception:  # noqa: BLE001 - the rows of the user will show it
        return False
    tasks = Path("/proc/self/task").iterdir()
    threads = [(task / "comm").read_text("utf-8").strip() for task in tasks]
    if len([name for name in threads if name != _SURVIVES_A_FORK]) != 1:
        return False
    for channel in {int(path.name) for path in Path("/proc/self/fd").iterdir()} - {
        0,
        1,
        2,
        control,
    }:
        with suppress(OSError):  # that of the listing itself is closed
            if stat.S_ISSOCK(os.fstat(channel).st_mode):
                return False
    return True


def forked(control: socket.socket) -> tuple[BinaryIO, BinaryIO]:
    """Return the channels of a forked process; the server itself never returns.

    It is sent two channels for each worker that is wanted, and the number of a worker that shall
    end. It answers with the number of the new worker, or the exit code of the old one. Only on
    request does it wait for a worker, so that no other process can have its number before.
    """
    gc.collect()
    gc.freeze()
    return_freed_memory()
    while True:
        message, channels, _, _ = socket.recv_fds(control, 32, 2)
        if not message:
            os._exit(0)  # nobody asks any more; the workers end too
        if not channels:
            os.kill(int(message), signal.SIGKILL)
            control.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(int(message), 0)[1]))
        elif (worker := os.fork()) == 0:
            control.close()
            _end_with_parent()
            return os.fdopen(channels[0], "rb"), os.fdopen(channels[1], "wb")
        else:
            for channel in channels:
                os.close(channel)
            control.send(b"%d" % worker)


def _end_with_parent() -> None:
    """Have this process killed when the thread that started it ends."""
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def main() -> None:
    """Keep the channels for pickles; what libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # else no worker that has ended is waited for
        _end_with_parent()
    rows_in, answers_out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    control = socket.socket(fileno=int(sys.argv[1])) if len(sys.argv) > 1 else None
    try:
        serve(rows_in, answers_out, control)
    except BrokenPipeError:
        os._exit(1)  # nobody listens any more


if __name__ == "__main__":
    main()
