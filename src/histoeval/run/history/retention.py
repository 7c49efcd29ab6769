"""Runs whose time is over: what would be removed, and removing it.

Only files that a verb of ours is known to write are removed, in folders that say that HistoEval
made them. Whatever else lies there stays, and so does its folder.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from shutil import rmtree
from typing import NamedTuple

from histoeval.errors import OutputError
from histoeval.io.finished_run import FinishedRun
from histoeval.io.folder_kinds import VERB_FILES
from histoeval.io.writing import locked, writing_to
from histoeval.run.history.stored_runs import StoredRun, details_of, stored_runs

VERBS = {"score": "score or judge", "judge": "score or judge"}
"""How `VERB_FILES` calls verbs."""

ENDINGS = ("html", "csv", "xlsx", "md", "json")
PAGES = tuple(f"report.{ending}" for ending in ENDINGS)
SCORES_FOLDER = "scores"
"""Where `agree` keeps the scores that it has made, with their texts."""
EVIDENCE = ("[0-9]*_*.png", "[0-9]*_patches.npz")


class Removable(NamedTuple):
    """A run, the files of it that may be removed, and why it is kept all the same."""

    run: StoredRun
    files: tuple[Path, ...]
    kept: str = ""
    size: int = 0
    """Bytes of these files before any is removed."""


def old_runs(folder: Path, older_than: timedelta) -> list[Removable]:
    """The runs below a folder that are older, the newest first."""
    limit = time.time() - older_than.total_seconds()
    return [_removable(run) for run in stored_runs(folder.resolve()) if run.changed <= limit]


def _removable(run: StoredRun) -> Removable:
    files = tuple(dict.fromkeys(_files(run)))
    if not files:
        return Removable(run, (), f"runs of `{run.kind}` are not removed")
    if not details_of(run).version:
        return Removable(run, (), "it does not say that histoeval made it")
    size = sum(file.lstat().st_size for file in files if file.is_file())
    return Removable(run, files, size=size)


def _files(run: StoredRun) -> Iterator[Path]:
    if not run.place.is_dir():
        name = run.place.name
        named = (name, f"{name}.meta.json", f"{name}.rows", f"{name}.lock")
        pages = [FinishedRun("extract", run.place).beside(ending).name for ending in ENDINGS]
        yield from _there(run.folder, *named, *pages)
        yield from run.folder.glob(f".{name}*.blocks-*")
        return
    known = VERB_FILES.get(VERBS.get(run.kind, run.kind))
    if known is not None:
        yield from _there(run.place, *known, *PAGES)
        own = run.place / SCORES_FOLDER
        if run.kind == "agree" and (own / "run.json").is_file() and not own.is_symlink():
            yield from _there(own, *VERB_FILES["score or judge"])
        yield from run.place.glob(".*.blocks-*")
        for pattern in EVIDENCE if run.kind == "trust" else ():
            yield from (run.place / "evidence").glob(pattern)


def _there(folder: Path, *names: str) -> Iterator[Path]:
    yield from (folder / name for name in names if (folder / name).is_file())


def remove_run(found: Removable) -> str:
    """Remove the files of a run; what is left is named, and the folder only goes if it is empty."""
    run = found.run
    try:
        with locked(run.folder / ".lock", run.place, "it stays"), writing_to(run.place):
            for file in found.files:
                if file.is_dir() and not file.is_symlink():
                    rmtree(file)
                else:
                    file.unlink(missing_ok=True)
    except OutputError as error:
        return str(error)
    if not run.place.is_dir():
        return ""
    for folder in (run.place / "evidence", run.place / SCORES_FOLDER, run.place):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()
    left = sorted(each.name for each in run.place.iterdir()) if run.place.is_dir() else []
    return f"not ours, and left there: {', '.join(left)}" if left else ""
