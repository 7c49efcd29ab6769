"""The runs of the served folder, and a cache of results made from them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Lock, Thread
from typing import Any, TypeVar

from starlette.exceptions import HTTPException

from histoeval.errors import HistoEvalError
from histoeval.io.results import ScoredMetric, read_scored
from histoeval.io.writing import make_folder
from histoeval.run.history import SCORED, StoredRun, slug, stored_runs
from histoeval.web.pages import without_paths

T = TypeVar("T")

MOST_RESULTS = 48


class ResultCache:
    """Results by key; beyond the limit the least recently used one is dropped."""

    def __init__(self, most: int = MOST_RESULTS) -> None:
        self._most = most
        self._lock = Lock()
        self._results: OrderedDict[Hashable, Any] = OrderedDict()
        self._coming: dict[Hashable, Future[Any]] = {}

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                result: T = self._results[key]
                return result
        new_result = make()
        with self._lock:
            self._results[key] = new_result
            while len(self._results) > self._most:
                self._results.popitem(last=False)
        return new_result

    def soon(self, key: Hashable, make: Callable[[], T], patience: float) -> T | None:
        """Return the result for a key, or None if it is not made within `patience` seconds."""

        def fulfil(future: Future[Any]) -> None:
            try:
                future.set_result(self.once(key, make))
            except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
                future.set_exception(error)

        with self._lock:
            future = self._coming.get(key)
            if future is None:
                future = self._coming[key] = Future()
                Thread(target=fulfil, args=(future,), daemon=True).start()
        wait([future], patience)
        if not future.done():
            return None
        with self._lock:
            self._coming.pop(key, None)
        result: T = future.result()
        return result


class RunIndex:
    """All runs below a folder, looked up by id; an id never becomes part of a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.results = ResultCache()

    def runs(self) -> list[StoredRun]:
        return stored_runs(self.folder)

    def run(self, name: str, *kinds: str) -> StoredRun:
        for run in self.runs():
            if run.id == name and (not kinds or run.kind in kinds):
                return run
        raise HTTPException(404, "There is no such run; it may have been moved or removed.")

    def new_folder(self, wish: str) -> Path:
        """Make a folder for a run; its name is the slug of the wished one."""
        name = slug(wish) or "run"
        for number in range(1, 1000):
            folder = self.folder / (name if number == 1 else f"{name}-{number}")
            if not folder.exists():
                make_folder(folder)
                return folder
        raise HTTPException(409, f"There are too many runs called {name}; choose another name.")

    def scores(self, run: StoredRun) -> dict[str, ScoredMetric]:
        return self.results.once(("scores", run.stamp), lambda: read_scored(run.place))

    def scored_runs(self) -> tuple[list[StoredRun], list[str]]:
        runs, problems = [], []
        for run in self.runs():
            if run.kind in SCORED and run.finished:
                try:
                    self.scores(run)
                    runs.append(run)
                except HistoEvalError as error:
                    message = without_paths(str(error), self.folder)
                    problems.append(f"{run.name} is left out: {message}")
        return runs, problems
