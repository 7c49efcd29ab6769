"""The runs in a folder, found by the files they leave."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from histoeval.io.files import check_there
from histoeval.io.folder_kinds import (
    REPORTS,
    RUN_KINDS,
    SCORE_CACHE,
    SCORES_FILES,
    TRUST,
    folder_kind,
    kind_among,
    wrong_folder,
)

DEPTH = 4
"""Folders below the one that is searched in which runs are looked for."""

UPLOAD = "upload.json"
"""What `serve` is to score: beside a table that was uploaded."""

META = tuple(f"{ending}.meta.json" for ending in (".jsonl", ".jsonl.gz", ".parquet"))
"""How the file ends that says of a file of results what made it."""

ROW_FILES = (*SCORES_FILES, TRUST, REPORTS)
"""Rows that have a folder of their own, and are not those of `extract`."""

WHOLE = (*RUN_KINDS, SCORE_CACHE.name)
"""The folders that are one thing, with everything that lies in them."""

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


def stored_runs(folder: Path) -> list[StoredRun]:
    """The runs that are below a folder now, the newest first."""
    found = sorted(_found(folder), key=lambda run: run.name)
    return sorted(found, key=lambda run: run.changed, reverse=True)


def stored_run(place: Path) -> StoredRun:
    """The run of a folder or file, finished or not."""
    check_there(place)
    kind = folder_kind(place)
    if place.is_file() and kind is not None:
        place = place.parent
    folder = place if place.is_dir() else place.parent
    for run in _found(folder.resolve()):
        if run.place == place.resolve():
            return run
    raise wrong_folder(place, "is no run: `histoeval runs list` shows those of a folder")


def _found(top: Path) -> Iterator[StoredRun]:
    for place, folders, files in os.walk(top):
        where = Path(place)
        inside = where.relative_to(top)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        name = "/".join(inside.parts)
        kind = kind_among(files, where)
        is_whole = kind is not None and kind.name in WHOLE
        if len(inside.parts) >= DEPTH or (is_whole and name):
            folders.clear()  # what lies in a run belongs to it
        if kind is not None and kind.name in RUN_KINDS:
            ended = kind.name not in SUMMED_UP or "summary.json" in files
            yield from _run(where, name or top.name, kind.name, kind.file_in(files) or "", ended)
        for file in files:
            rows = file.removesuffix(".meta.json")
            if file.endswith(META) and rows not in ROW_FILES and rows in files:
                yield from _run(where / rows, f"{name}/{rows}".strip("/"), "extract", "", True)


def _run(place: Path, name: str, kind: str, file: str, finished: bool) -> Iterator[StoredRun]:
    """The run, unless its file went away meanwhile or is a link to nothing."""
    digest = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    summary = place / "summary.json"
    dated = summary if file and finished and summary.exists() else place / file
    with suppress(FileNotFoundError):
        changed = dated.stat().st_mtime
        yield StoredRun(f"{slug(name) or 'run'}-{digest}", name, kind, place, changed, finished)


def slug(text: str) -> str:
    """A plain name for a folder or an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")
