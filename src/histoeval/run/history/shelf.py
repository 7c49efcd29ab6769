"""The runs in a folder, found by the files they leave."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError
from histoeval.io.files import check_there
from histoeval.io.finished_run import AGREEMENT, COMPARISON, EXPERIMENTS, SCORES_FILES, TRUST

DEPTH = 4
"""Folders below the one that is searched in which runs are looked for."""

UPLOAD = "upload.json"
"""What `serve` is to score: beside a table that was uploaded."""

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


def stored_runs(folder: Path) -> list[StoredRun]:
    """The runs that are below a folder now, the newest first."""
    found = sorted(_found(folder), key=lambda run: run.name)
    return sorted(found, key=lambda run: run.changed, reverse=True)


def stored_run(place: Path) -> StoredRun:
    """The run of a folder or file, finished or not."""
    check_there(place)
    if place.is_file() and place.name in KINDS:
        place = place.parent
    folder = place if place.is_dir() else place.parent
    for run in _found(folder.resolve()):
        if run.place == place.resolve():
            return run
    raise InputError(f"{place} is no run: `histoeval runs list` shows those of a folder")


def _found(top: Path) -> Iterator[StoredRun]:
    for place, folders, files in os.walk(top):
        where = Path(place)
        inside = where.relative_to(top)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        name = "/".join(inside.parts)
        known = [file for file in KINDS if file in files]
        if len(inside.parts) >= DEPTH or (known and name):
            folders.clear()  # what lies in a run belongs to it
        if known:
            ended = KINDS[known[0]] not in SUMMED_UP or "summary.json" in files
            yield from _run(where, name or top.name, KINDS[known[0]], known[0], ended)
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
        yield StoredRun(f"{slug(name) or 'run'}-{digest}", name, kind, place, changed, finished)


def slug(text: str) -> str:
    """A plain name for a folder or an address."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")
