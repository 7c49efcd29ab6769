"""The runs in a folder, found by the files they leave; addresses name them by ids."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.exceptions import HTTPException

from histoeval.io.store import VERB_FILES

DEPTH = 4
"""Folders below the one that is served in which runs are looked for."""

KINDS = {
    "usage.json": "judge",
    "scores.jsonl": "score",
    **{files[0]: verb for verb, files in VERB_FILES.items() if verb != "score or judge"},
    "comparison.json": "compare",
}
"""The file by which the results of a verb are known; the first that is there counts."""


class StoredRun(NamedTuple):
    """A folder of results: its id, its name on pages, the verb that made it, and its time."""

    id: str
    name: str
    kind: str
    folder: Path
    changed: float
    finished: bool


class Shelf:
    """All runs below a folder, looked up by id; an id is never made into a path."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()

    def runs(self) -> list[StoredRun]:
        """The runs that are there now, the newest first."""
        found = sorted(self._found(), key=lambda run: run.name)
        return sorted(found, key=lambda run: run.changed, reverse=True)

    def run(self, name: str) -> StoredRun:
        """The run with this id."""
        for run in self.runs():
            if run.id == name:
                return run
        raise HTTPException(404, "There is no such run; it may have been moved or removed.")

    def _found(self) -> Iterator[StoredRun]:
        for place, folders, files in os.walk(self.folder):
            where = Path(place)
            inside = where.relative_to(self.folder)
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if len(inside.parts) >= DEPTH:
                folders.clear()
            kind = next((kind for file, kind in KINDS.items() if file in files), None)
            if kind is not None:
                yield _run(where, "/".join(inside.parts) or self.folder.name, kind, files)


def _run(folder: Path, name: str, kind: str, files: list[str]) -> StoredRun:
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "run"
    digest = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    finished = kind in {"agree", "compare"} or "summary.json" in files
    changed = max((folder / file).stat().st_mtime for file in files if file in _TIMED)
    return StoredRun(f"{slug}-{digest}", name, kind, folder, changed, finished)


_TIMED = {*KINDS, "summary.json", "trust.jsonl", "reports.jsonl"}
