"""The runs of the folder that is served; addresses name them by ids."""

from __future__ import annotations

from pathlib import Path

from starlette.exceptions import HTTPException

from histoeval.io.writing import make_folder
from histoeval.run.history.shelf import StoredRun, slug, stored_runs


class Shelf:
    """All runs below a folder, looked up by id; an id is never made into a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def runs(self) -> list[StoredRun]:
        """The runs that are there now, the newest first."""
        return stored_runs(self.folder)

    def run(self, name: str, *kinds: str) -> StoredRun:
        """The run with this id, of one of these kinds."""
        for run in self.runs():
            if run.id == name and (not kinds or run.kind in kinds):
                return run
        raise HTTPException(404, "There is no such run; it may have been moved or removed.")

    def run_in(self, folder: Path) -> StoredRun:
        """The run of a folder that was made here."""
        return next(run for run in self.runs() if run.place == folder)

    def new_folder(self, wish: str) -> Path:
        """A new folder for a run, named after a wish as far as that makes a plain name."""
        name = slug(wish) or "run"
        for number in range(1, 1000):
            folder = self.folder / (name if number == 1 else f"{name}-{number}")
            if not folder.exists():
                make_folder(folder)
                return folder
        raise HTTPException(409, f"There are too many runs called {name}; choose another name.")
