"""Slides that are read by a process of their own.

The libraries for slides are written in C, and a damaged or forged file can make them end the
process or never return. So every file that is not a plain picture is opened by a child process
with a limit of time and memory (`worker.py`), and what ends that process is an error of the file.
Children are kept for the next slide, one for each thread that reads at the same time.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from io import BufferedReader
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np

from histoeval.errors import HistoEvalError, InputError, MissingDependency
from histoeval.slides.slide import (
    DamagedRegion,
    Pixels,
    Resolution,
    Slide,
    SlideLevel,
    TruncatedSlide,
    gone,
)

SECONDS = 60.0  # for one answer: a slide opened, or a region read
START_SECONDS = 300.0  # until a child is ready, on a busy machine
KEPT = 8  # children that each keep a slide open; with more of them, one has to open another slide
# what a child may answer with
ERRORS: dict[str, type[HistoEvalError]] = {
    kind.__name__: kind for kind in (InputError, MissingDependency, DamagedRegion, TruncatedSlide)
}
_idle: list[_Child] = []
_lock = threading.Lock()
_numbers = count(1)


class IsolatedSlide(Slide):
    def __init__(self, path: Path) -> None:
        self._number = next(_numbers)
        self._name = str(path)
        self._start = None if path.is_absolute() else str(Path.cwd())
        facts, _ = self._ask(None)
        resolution = facts["resolution"]
        super().__init__(
            path,
            facts["format"],
            tuple(SlideLevel(*level) for level in facts["levels"]),
            None if resolution is None else Resolution(*resolution),
            tuple(facts["notes"]),
        )

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        _, pixels = self._ask((level, x, y, width, height))
        return pixels.reshape(height, width, 3)

    def close(self) -> None:
        with _lock:
            children = [child for child in _idle if child.slide == self._number]
            for child in children:
                _idle.remove(child)
        for child in children:
            with suppress(_ChildEnded):
                child.ask({"slide": 0})
                _give_back(child, 0)

    def _ask(self, region: tuple[int, ...] | None) -> tuple[dict[str, Any], Pixels]:
        child = _borrow(self._number)
        request = {"slide": self._number, "path": self._name, "from": self._start, "region": region}
        try:
            answer, pixels = child.ask(request)
        except _ChildEnded as ended:
            lost = gone(Path(self._start or "", self._name))
            raise InputError(lost or f"{self._name} cannot be read: {ended}") from ended
        _give_back(child, self._number)
        if (error := answer.get("error")) is not None:
            raise ERRORS.get(error, InputError)(answer["message"])
        return answer, pixels


class _ChildEnded(Exception):  # noqa: N818 - not an error of this program
    """A child ended without an answer; the message says why."""


class _Child:
    """A process that opens slides and reads from them, one request after the other."""

    def __init__(self) -> None:
        self.slide = 0  # the number of the slide that it has open
        self._is_late = False
        modules = os.pathsep.join(filter(None, sys.path))
        settings = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": modules}
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "histoeval.slides.worker"],
            bufsize=0,  # a forked process would send what is in a buffer once more
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | settings,
        )
        pipes = self.process.stdin, self.process.stdout, self.process.stderr
        self._stdin, stdout, self._stderr = (pipe for pipe in pipes if pipe is not None)
        self._stdout = BufferedReader(stdout)  # type: ignore[type-var]
        try:
            self.ask(None, START_SECONDS)
        except _ChildEnded as ended:
            raise HistoEvalError(f"slides cannot be read on this machine: {ended}") from ended

    def ask(
        self, request: dict[str, Any] | None, seconds: float | None = None
    ) -> tuple[dict[str, Any], Pixels]:
        """Return the answer to a request; to None, that the child is ready."""
        seconds = seconds or SECONDS
        timer = threading.Timer(seconds, self._kill)
        timer.start()
        try:
            if request is not None:
                send(self._stdin, request)
            return receive(self._stdout)
        except (EOFError, OSError) as error:
            raise _ChildEnded(self._why(seconds)) from error
        except BaseException:  # such as Ctrl-C: the answer would be taken for that to another
            self.end()
            raise
        finally:
            timer.cancel()

    def _kill(self) -> None:
        self._is_late = True
        self.process.kill()

    def _why(self, seconds: float) -> str:
        code = self.process.wait()
        messages = self._stderr.read().decode("utf-8", "replace").strip().splitlines()
        self.end()
        if self._is_late:
            return f"no answer within {seconds:g} seconds; it is damaged, or its disk is too slow"
        if -code in (signal.SIGTERM, getattr(signal, "SIGKILL", None)):
            return "the process that reads it was killed; is there enough memory?"
        if code < 0:
            names = {number.value: number.name for number in signal.Signals}  # real-time: none
            name = names.get(-code, f"signal {-code}")
            return f"it is damaged, and reading it ended with {name}"
        return messages[-1] if messages else f"the process that reads it ended with code {code}"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self._stdin, self._stdout, self._stderr):
            pipe.close()


def process_ids() -> list[int]:
    with _lock:
        return [child.process.pid for child in _idle]


def prepare() -> None:
    """Have a child ready, so that the next slide need not wait for its start."""
    _give_back(_borrow(0), 0)


def _borrow(number: int) -> _Child:
    """A child that has the slide open, or none, or a new one; with many, the oldest of them."""
    with _lock:
        _idle.sort(key=lambda child: (child.slide == number, not child.slide))
        while _idle:
            fits = _idle[-1].slide in (0, number)
            if not fits and len(_idle) < KEPT:
                break
            if (child := _idle.pop(-1 if fits else 0)).process.poll() is None:
                return child
            child.end()
    return _Child()


def _give_back(child: _Child, number: int) -> None:
    child.slide = number
    with _lock:
        _idle.append(child)


@atexit.register
def _end_all() -> None:
    while _idle:
        _idle.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)


def send(pipe: IO[bytes], content: dict[str, Any], pixels: Pixels | None = None) -> None:
    """Write a line of JSON, and pixels behind it."""
    size = 0 if pixels is None else pixels.nbytes
    pipe.write(json.dumps(content | {"bytes": size}).encode() + b"\n")
    if pixels is not None:
        pipe.write(np.ascontiguousarray(pixels).data)
    pipe.flush()


def receive(pipe: Any) -> tuple[dict[str, Any], Pixels]:
    """Read a message, and the pixels behind it; `EOFError` where there is no whole one."""
    line = pipe.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    content: dict[str, Any] = json.loads(line)
    pixels = np.empty(content["bytes"], np.uint8)
    if pipe.readinto(pixels) < pixels.size:
        raise EOFError
    return content, pixels
