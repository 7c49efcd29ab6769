"""Tables that are scored in the background, one after the other, each by a process of its own.

The request lies in the run's folder (`upload.json`), so that a run whose server was stopped can be
continued. The process is that of `histoeval score`: it resumes after its last whole row.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Literal, NamedTuple

from filelock import FileLock, Timeout

from histoeval.errors import InputError
from histoeval.io.folder_kinds import SCORES
from histoeval.io.row_files import row_lines, stored_as
from histoeval.io.store import read_json
from histoeval.io.writing import write_json
from histoeval.run.history import UPLOAD

LOCK = ".lock"  # what `histoeval score` holds in the folder that it writes into
BATCH = 16  # pairs that are written together, so that progress is seen to move
MOST_WAITING = 20
PATIENCE_S = 5.0

State = Literal["waiting", "running", "finished", "failed", "cancelled", "unfinished", "elsewhere"]


class Progress(NamedTuple):
    state: State
    done: int
    pairs: int
    message: str = ""

    @property
    def is_over(self) -> bool:
        return self.state not in {"waiting", "running", "elsewhere"}


class UploadRequest(NamedTuple):
    """A file of the run's folder to be scored; columns that are not named are guessed."""

    file: str
    metrics: Sequence[str]
    reference: str
    candidates: Sequence[str]
    pairs: int

    def save(self, folder: Path) -> None:
        write_json(folder / UPLOAD, self._asdict())

    @classmethod
    def load(cls, folder: Path) -> UploadRequest:
        content = read_json(folder / UPLOAD, folder)
        if content.keys() != set(cls._fields):
            raise InputError(f"{folder / UPLOAD} is damaged: remove the folder, and upload again")
        return cls(**content)

    def command(self, folder: Path) -> list[str]:
        words = ["score", str(folder / self.file), "--output", str(folder)]
        words += ["--metrics", ",".join(self.metrics), "--batch-size", str(BATCH)]
        words += ["--reference", self.reference] if self.reference else []
        for column in self.candidates:
            words += ["--candidate", column]
        return [sys.executable, "-m", "histoeval", *words]


@dataclass(eq=False)
class Job:
    folder: Path
    state: State = "waiting"
    message: str = ""
    process: subprocess.Popen[bytes] | None = None

    def begin(self) -> None:
        try:
            self.process = subprocess.Popen(
                UploadRequest.load(self.folder).command(self.folder),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=os.environ | {"NO_COLOR": "1"},
            )
            self.state = "running"
        except Exception as error:  # noqa: BLE001 - it is shown, and the worker goes on
            self.state, self.message = "failed", f"{type(error).__name__}: {error}"

    def wait(self) -> None:
        """Wait for the end; a run whose pairs could not be scored has ended too, and says why."""
        if self.process is None:
            return
        _, stderr = self.process.communicate()
        if self.state == "cancelled":
            return
        if (self.folder / "summary.json").is_file():
            self.state = "finished"
            return
        lines = stderr.decode("utf-8", "replace").strip().splitlines()
        self.message = lines[-1].removeprefix("histoeval: ") if lines else "the process was ended"
        self.state = "failed"

    def stop(self) -> None:
        if self.state not in {"waiting", "running"}:
            return
        self.state = "cancelled"
        if self.process is not None:
            self.process.terminate()
            later = threading.Timer(PATIENCE_S, self.process.kill)
            later.daemon = True
            later.start()


class Jobs:
    """The tables that wait or are being scored. A worker takes them in turn."""

    def __init__(self) -> None:
        self._jobs: dict[Path, Job] = {}
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._worker: threading.Thread | None = None

    def start(self, folder: Path) -> None:
        """Score what the folder asks for, or continue it, unless another process does so."""
        if _is_locked(folder / LOCK):
            return
        with self._lock:
            if (last_job := self._jobs.get(folder)) and last_job.state in {"waiting", "running"}:
                return
            if sum(job.state == "waiting" for job in self._jobs.values()) >= MOST_WAITING:
                raise InputError(
                    f"{MOST_WAITING} tables are waiting to be scored; try again when some are done"
                )
            job = self._jobs[folder] = Job(folder)
            self._queue.put(job)
            if self._worker is None:
                self._worker = threading.Thread(target=self._work, daemon=True)
                self._worker.start()

    def _work(self) -> None:
        for job in iter(self._queue.get, None):
            with self._lock:
                if job.state == "waiting":
                    job.begin()
            job.wait()

    def cancel(self, folder: Path) -> None:
        """Stop a run; its scores stay, and it can be continued."""
        with self._lock:
            if folder in self._jobs:
                self._jobs[folder].stop()

    def close(self) -> None:
        with self._lock:
            for job in self._jobs.values():
                job.stop()
        self._queue.put(None)
        if self._worker is not None:
            self._worker.join(PATIENCE_S)

    def progress(self, folder: Path) -> Progress:
        """Return the progress of a run, also of one that another server began."""
        pairs = UploadRequest.load(folder).pairs
        try:
            done = sum(line.endswith(b"\n") for line in row_lines(stored_as(folder / SCORES)))
        except FileNotFoundError:
            done = 0
        job = self._jobs.get(folder)
        if job is not None and job.state != "finished":
            return Progress(job.state, done, pairs, job.message)
        if (folder / "summary.json").is_file():
            return Progress("finished", done, pairs)
        return Progress("elsewhere" if _is_locked(folder / LOCK) else "unfinished", done, pairs)


def _is_locked(lock: Path) -> bool:
    """True if another process holds the lock; a lock file without a holder does not count."""
    if not lock.exists():
        return False
    try:
        with FileLock(lock, thread_local=False).acquire(blocking=False):
            return False
    except Timeout:
        return True
