"""The runs in a folder, found by the files they leave, and what is known of each.

Which commands have written results, when and by what, is in `commands.jsonl` beside the cache. A
line is added each time that a run begins or resumes. It is not in the folder of the run, whose
files have no date: there the same command leaves the same bytes.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.callers import current_caller
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import (
    KINDS,
    SCORE_CACHE,
    folder_kind,
    kind_among,
    wrong_folder,
)
from histoeval.io.row_files import row_lines, stored_as
from histoeval.io.writing import make_folder
from histoeval.runtime.audit import cache_folder
from histoeval.version import __version__

DEPTH = 4
"""Folders below the one that is searched in which runs are looked for."""

UPLOAD = "upload.json"
"""What `serve` is to score: beside a table that was uploaded."""

META = tuple(f"{ending}.meta.json" for ending in (".jsonl", ".jsonl.gz", ".parquet"))
"""How the file ends that says of a file of results what made it."""


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
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def stamp(self) -> tuple[str, float]:
        """What changes when the results do."""
        return self.id, self.changed


def stored_runs(folder: Path) -> list[StoredRun]:
    """The runs that are below a folder now, the newest first."""
    return sorted(_runs_below(folder), key=lambda run: (-run.changed, run.name))


def stored_run(place: Path) -> StoredRun:
    """The run of a folder or file, finished or not."""
    check_there(place)
    if place.is_file() and folder_kind(place) is not None:
        place = place.parent
    folder = place if place.is_dir() else place.parent
    for run in _runs_below(folder.resolve()):
        if run.place == place.resolve():
            return run
    raise wrong_folder(place, "is no run: `histoeval runs list` shows those of a folder")


def _runs_below(top: Path) -> Iterator[StoredRun]:
    rows_of_folders = {name for kind in KINDS.values() if kind.rows for name in kind.files}
    for place, folders, files in os.walk(top):
        where = Path(place)
        inside = where.relative_to(top)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        name = "/".join(inside.parts)
        kind = kind_among(files, where)
        is_whole = kind is not None and (kind.is_run or kind is SCORE_CACHE)
        if len(inside.parts) >= DEPTH or (is_whole and name):
            folders.clear()  # what lies in a run belongs to it
        if kind is not None and kind.is_run:
            has_ended = kind.summed_up is None or "summary.json" in files
            file = kind.file_in(files) or ""
            yield from _run(where, name or top.name, kind.name, file, has_ended)
        for file in files:
            rows = file.removesuffix(".meta.json")
            if file.endswith(META) and rows not in rows_of_folders and rows in files:
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


SCORED = ("score", "judge")


class RunDetails(NamedTuple):
    """A run, what was asked for, what came out, and the commands that made it."""

    run: StoredRun
    rows: int | None
    request: dict[str, Any]
    summary: dict[str, Any]
    commands: list[dict[str, Any]]

    @property
    def version(self) -> str:
        """That of HistoEval which made it, as far as the run says it."""
        return str(self.summary.get("histoeval") or self.request.get("histoeval") or "")

    @property
    def input(self) -> str:
        about = self.summary.get("input") or self.summary.get("sheet") or {}
        return str(about.get("name", "")) if isinstance(about, dict) else str(about)

    @property
    def errors(self) -> int | None:
        count = self.summary.get("rows_with_errors")
        return count if isinstance(count, int) else None

    def content(self) -> dict[str, Any]:
        return {
            "place": str(self.run.place),
            "verb": self.run.kind,
            "changed": self.run.changed,
            "finished": self.run.finished,
            "rows": self.rows,
            "run": self.request,
            "summary": self.summary,
            "commands": self.commands,
        }


def details_of(run: StoredRun) -> RunDetails:
    """Read what a run says of itself; what is damaged is left out."""
    kind = KINDS.get(run.kind)
    meta = run.place / "run.json" if run.place.is_dir() else Path(f"{run.place}.meta.json")
    if kind is not None and run.kind in ("trust", "generate"):
        meta = run.place / f"{kind.rows}.meta.json"
    about = _json(meta)
    summary = about.get("summary") or {}
    if run.place.is_dir():
        summary = _json(run.place / ((kind and kind.result) or "summary.json"))
    commands = read_commands(run.place)
    if not commands and "command" in summary:
        commands = [{"command": summary["command"]}]
    rows = summary.get("rows", summary.get("pairs", summary.get("cases")))
    if not isinstance(rows, int):
        rows = (
            _rows_so_far(run.place / kind.rows) if kind and kind.rows and not run.finished else None
        )
    return RunDetails(run, rows, about.get("run", about), summary, commands)


def _rows_so_far(rows: Path) -> int | None:
    file = stored_as(rows)
    try:
        return sum(line.endswith(b"\n") for line in row_lines(file)) if file.exists() else 0
    except (OSError, ValueError):
        return None


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def about_run(run: StoredRun) -> str:
    """What a run is of, in a few words; nothing where its summary does not say."""
    try:
        return _in_words(run)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""


def _in_words(run: StoredRun) -> str:
    if run.kind == "extract":
        summary = json.loads(Path(f"{run.place}.meta.json").read_text("utf-8"))["summary"]
        return f"{summary['rows']:,} reports, {sum(summary['entities'].values()):,} entities"
    file = run.place / (KINDS[run.kind].result or "summary.json")
    content = json.loads(file.read_text("utf-8"))
    if run.kind == "agree":
        count = len(content["metrics"])
        return f"{content['rows']:,} pairs scored by experts, {count} metrics against them"
    if run.kind == "compare":
        means = [f"{row['system']} {row['mean']['value']:.3f}" for row in content["systems"]]
        gate = content.get("gate")
        outcome = "" if not gate else f"; gate {'passed' if gate['passed'] else 'failed'}"
        return f"{content['metric']}: {', '.join(means[:3])}{outcome}"
    if run.kind == "ranking":
        teams = [f"{row['place']:g}. {row['team']}" for row in content["teams"][:3]]
        return f"{len(content['teams']):,} teams on {content['cases']:,} cases: {', '.join(teams)}"
    if run.kind == "trust":
        routes = ", ".join(f"{count:,} {route}" for route, count in content["routes"].items())
        return f"{content['rows']:,} reports: {routes}"
    if run.kind not in SCORED:
        return ""
    first, metrics = next(iter(content["metrics"])), content["metrics"].values()
    systems = {name for metric in metrics for name in metric["systems"]}
    means = [
        f"{name or 'mean'} {totals['mean']:.3f}"
        for name, totals in content["metrics"][first]["systems"].items()
        if totals.get("mean") is not None
    ]
    plural = "s" if len(systems) != 1 else ""
    size = f"{content['rows']:,} pairs, {len(systems)} system{plural}"
    return f"{size}; {first}: {', '.join(means[:3])}"


def all_means(summary: dict[str, Any]) -> dict[tuple[str, str], float]:
    """The mean of each metric and system."""
    metrics = summary.get("metrics")
    return {
        (name, system): totals["mean"]
        for name, each in (metrics.items() if isinstance(metrics, dict) else ())
        if isinstance(each, dict)
        for system, totals in each.get("systems", {}).items()
        if isinstance(totals, dict) and totals.get("mean") is not None
    }


def journal() -> Path:
    return cache_folder() / "commands.jsonl"


def command_line() -> str:
    """The command as it was given, so that it can be repeated; addresses without their query."""
    words = [re.sub(r"(https?://[^?\s]*)\?\S*", r"\1", word) for word in sys.argv[1:]]
    return shlex.join(["histoeval", *words])


def note_command(place: Path) -> None:
    """Note the command that writes results here; a run does not fail where that cannot be done."""
    caller = current_caller()
    is_shell = caller is not None and caller.is_shell
    line = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "place": str(place.resolve()),
        "command": command_line() if is_shell else "called from Python",
        "histoeval": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
    }
    with suppress(OSError):
        make_folder(journal().parent)
        file = os.open(journal(), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, f"{json.dumps(line)}\n".encode())
        finally:
            os.close(file)


def read_commands(place: Path) -> list[dict[str, Any]]:
    """The commands that have written results here, the first of them first."""
    commands: list[dict[str, Any]] = []
    with suppress(OSError):
        for line in journal().read_bytes().splitlines():
            with suppress(ValueError, RecursionError):
                entry = json.loads(line)
                is_command = isinstance(entry, dict) and "command" in entry
                if is_command and entry.get("place") == str(place.resolve()):
                    commands.append(entry)
    return commands
