"""Workers that are forked of one process, so that models are loaded once and shared in memory.

That process is a fresh interpreter which has loaded the task and worked on a made-up row. It is
asked for workers over a socket. It must have one thread, beside that of an allocator which survives
a fork, and no GPU; where it cannot be forked, each worker is a fresh interpreter and loads its own
models.
"""

import os
import socket
import sys
from contextlib import suppress
from threading import Lock
from typing import Any

from histoeval.errors import HistoEvalError
from histoeval.run.engines.engine import Task
from histoeval.run.engines.worker import Worker, WorkerDied, spawn


class StoppedError(HistoEvalError):
    """The run has ended while a block was worked on."""


class ForkServer:
    """The other end of the process that is forked; several threads may ask it."""

    def __init__(self, package: bytes, workers: int) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self.process = spawn(package, workers, theirs.fileno())
        self._lock = Lock()

    def fork(self) -> Worker:
        """A new worker."""
        rows_in, rows_out = os.pipe()
        answers_in, answers_out = os.pipe()
        try:
            number = self._ask(b"fork", rows_in, answers_out)
        finally:
            os.close(rows_in)
            os.close(answers_out)
        worker = Worker(
            os.fdopen(rows_out, "wb"), os.fdopen(answers_in, "rb"), lambda: self._killed(number)
        )
        if number is None:
            self.end()
            raise WorkerDied(worker.end())
        return worker

    def end(self) -> None:
        """Kill the process; its workers end with it."""
        self.process.end()
        self._control.close()

    def _killed(self, worker: int | None) -> int | None:
        return None if worker is None else self._ask(b"%d" % worker)

    def _ask(self, message: bytes, *channels: int) -> int | None:
        """The answer to a request; None where nobody answers any more."""
        with self._lock, suppress(OSError):
            socket.send_fds(self._control, [message], channels)
            if answer := self._control.recv(32):
                return int(answer)
        return None


class WorkerSource:
    """Starts the workers of a task: forked of one process where they can be, or each by itself."""

    def __init__(self, task: Task[Any, Any], package: bytes, workers: int) -> None:
        self._package = package
        self._workers = workers
        can_be_forked = task.shares_gpu or not task.on_gpu
        self._forks = sys.platform == "linux" and can_be_forked and bool(task.examples())
        self._server: ForkServer | None = None
        self._lock = Lock()
        self._stopped = False

    def start(self) -> Worker:
        """A new worker; `WorkerDied` where the process that it would be forked of has ended."""
        with self._lock:
            if self._forks and (server := self._server or self._loaded()):
                try:
                    return server.fork()
                except WorkerDied:
                    self._server = None
                    raise
        if self._stopped:
            raise StoppedError("the run was stopped")
        return spawn(self._package, self._workers)

    def stop(self) -> None:
        """Kill the process that workers are forked of, also while it loads models, and them."""
        self._stopped = True
        if (server := self._server) is not None:
            server.end()

    def _loaded(self) -> ForkServer | None:
        """The process that is forked; None, now and later, where it cannot be."""
        server = self._server = ForkServer(self._package, self._workers)
        with suppress(WorkerDied):
            if not self._stopped and server.process.begin():
                return server
        server.end()
        self._server, self._forks = None, False
        return None
