"""What is expensive to read or to compute, kept while the runs it is made of stay as they are."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from functools import partial
from threading import Lock, Thread
from typing import Any, TypeVar

from histoeval.errors import HistoEvalError
from histoeval.io.results import ScoredMetric, read_scored
from histoeval.run.history.about import SCORED
from histoeval.run.history.shelf import StoredRun
from histoeval.web.pages import without_paths
from histoeval.web.shelf import Shelf

T = TypeVar("T")

MOST = 48
"""Results that are kept; the one that was not asked for the longest goes first."""


class Kept:
    """Results by what they are made of; each is made once."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = Lock()
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._coming: dict[Hashable, Future[Any]] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result for a key, made now if it is not there."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                known: T = self._results[key]
                return known
        made = make()
        with self._lock:
            self._results[key] = made
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return made

    def soon(self, key: Hashable, make: Callable[[], T], patience: float) -> T | None:
        """The result for a key if it is there in so many seconds; None while it is being made."""
        with self._lock:
            future = self._coming.get(key)
            if future is None:
                future = self._coming[key] = Future()
                made = partial(self.once, key, make)
                Thread(target=_fulfil, args=(future, made), daemon=True).start()
        wait([future], patience)
        if not future.done():
            return None
        with self._lock:
            self._coming.pop(key, None)
        found: T = future.result()
        return found

    def scores(self, run: StoredRun) -> dict[str, ScoredMetric]:
        """The numbers of a run by metric."""
        return self.once(("scores", run.stamp), lambda: read_scored(run.place))

    def readable(self, shelf: Shelf) -> tuple[list[StoredRun], list[str]]:
        """The finished runs of scores, the newest first, and what is wrong with the others."""
        runs, problems = [], []
        for run in shelf.runs():
            if run.kind in SCORED and run.finished:
                try:
                    self.scores(run)
                    runs.append(run)
                except HistoEvalError as error:
                    message = without_paths(str(error), shelf.folder)
                    problems.append(f"{run.name} is left out: {message}")
        return runs, problems


def _fulfil(future: Future[Any], make: Callable[[], Any]) -> None:
    try:
        future.set_result(make())
    except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
        future.set_exception(error)
