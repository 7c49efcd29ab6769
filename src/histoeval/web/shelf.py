"""The runs in a folder, found by the files they leave; addresses name them by ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException

from histoeval.io.finished_run import AGREEMENT, COMPARISON, EXPERIMENTS, SCORES_FILES, TRUST
from histoeval.io.writing import make_folder
from histoeval.web.jobs import UPLOAD

DEPTH = 4
"""Folders below the one that is served in which runs are looked for."""

KINDS = {
    "usage.json": "judge",
    **dict.fromkeys(SCORES_FILES, "score"),
    UPLOAD: "score",
    TRUST: "trust",
    "reports.jsonl": "generate",
    AGREEMENT: "agree",
    COMPARISON: "compare",
    **dict.fromkeys((f"{name}.json" for name in EXPERIMENTS), "experiment"),
}
"""The file by which the results of a verb are known; the first that is there counts."""

META = tuple(f"{ending}.meta.json" for ending in (".jsonl", ".jsonl.gz", ".parquet"))
"""How the file ends that says of a file of results what made it."""

SUMMED_UP = {"judge", "score", "trust", "generate"}
"""Whose runs have ended when there is a summary."""


class StoredRun(NamedTuple):
    """The results of a run: its id, its name on pages, the verb that made it, and its time."""

    id: str
    name: str
    kind: str
    place: Path
    """A folder, or the file that `extract` has written."""
    changed: float
    finished: bool

    @property
    def folder(self) -> Path:
        """Where files about the run are."""
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def stamp(self) -> tuple[str, float]:
        """What changes when the results do."""
        return self.id, self.changed


class Shelf:
    """All runs below a folder, looked up by id; an id is never made into a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def runs(self) -> list[StoredRun]:
        """The runs that are there now, the newest first."""
        found = sorted(self._found(), key=lambda run: run.name)
        return sorted(found, key=lambda run: run.changed, reverse=True)

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
        slug = _slug(wish) or "run"
        for number in range(1, 1000):
            folder = self.folder / (slug if number == 1 else f"{slug}-{number}")
            if not folder.exists():
                make_folder(folder)
                return folder
        raise HTTPException(409, f"There are too many runs called {slug}; choose another name.")

    def _found(self) -> Iterator[StoredRun]:
        for place, folders, files in os.walk(self.folder):
            where = Path(place)
            inside = where.relative_to(self.folder)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            name = "/".join(inside.parts)
            known = [file for file in KINDS if file in files]
            if len(inside.parts) >= DEPTH or (known and name):
                folders.clear()  # what lies in a run belongs to it
            if known:
                ended = KINDS[known[0]] not in SUMMED_UP or "summary.json" in files
                yield from _run(where, name or self.folder.name, KINDS[known[0]], known[0], ended)
            for file in files:
                rows = file.removesuffix(".meta.json")
                if file.endswith(META) and rows not in KINDS and rows in files:
                    yield from _run(where / rows, f"{name}/{rows}".strip("/"), "extract", "", True)


def _run(place: Path, name: str, kind: str, file: str, finished: bool) -> Iterator[StoredRun]:
    """The run, unless its file went away meanwhile or is a link to nothing."""
    digest = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    summary = place / "summary.json"
    dated = summary if file and finished and summary.exists() else place / file
    with suppress(FileNotFoundError):
        changed = dated.stat().st_mtime
        yield StoredRun(f"{_slug(name) or 'run'}-{digest}", name, kind, place, changed, finished)


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")
