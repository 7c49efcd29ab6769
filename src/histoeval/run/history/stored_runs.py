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
    AGREEMENT,
    COMPARISON,
    RANKING,
    REPORTS,
    RUN_KINDS,
    SCORE_CACHE,
    SCORES_FILES,
    TRUST,
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


SCORED = ("score", "judge")

ROWS = {"score": "scores.jsonl", "judge": "scores.jsonl", "trust": "trust.jsonl"} | {
    "generate": "reports.jsonl"
}
"""The file of rows in the folder of each verb."""

RESULTS = {"agree": AGREEMENT, "compare": COMPARISON, "ranking": RANKING}
"""The only file of verbs that have no rows."""


class RunDetails(NamedTuple):
    """A run, what was asked for, what came out, and the commands that made it."""

    run: StoredRun
    rows: int | None
    request: dict[str, Any]
    summary: dict[str, Any]
    commands: list[dict[str, Any]]

    @property
    def version(self) -> str:
        """Of HistoEval, as far as the run says it."""
        return str(self.summary.get("histoeval") or self.request.get("histoeval") or "")

    @property
    def input(self) -> str:
        """The name of what was read."""
        about = self.summary.get("input") or self.summary.get("sheet") or {}
        return str(about.get("name", "")) if isinstance(about, dict) else str(about)

    @property
    def errors(self) -> int | None:
        """Rows with errors."""
        found = self.summary.get("rows_with_errors")
        return found if isinstance(found, int) else None

    def content(self) -> dict[str, Any]:
        """Everything, for JSON."""
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
    meta = run.place / "run.json" if run.place.is_dir() else Path(f"{run.place}.meta.json")
    if run.kind in ("trust", "generate"):
        meta = run.place / f"{ROWS[run.kind]}.meta.json"
    about = _json(meta)
    request = about.get("run", about) if "run" in about else about
    summary = _json(run.folder / RESULTS.get(run.kind, "summary.json"))
    if not run.place.is_dir():
        summary = about.get("summary") or {}
    commands = read_commands(run.place)
    if not commands and "command" in summary:
        commands = [{"command": summary["command"]}]
    return RunDetails(run, _rows(run, summary), request, summary, commands)


def _rows(run: StoredRun, summary: dict[str, Any]) -> int | None:
    """How many rows there are; of a run that has not ended, so far."""
    counted = summary.get("rows", summary.get("pairs", summary.get("cases")))
    if isinstance(counted, int):
        return counted
    if run.kind not in ROWS or run.finished:
        return None
    file = stored_as(run.place / ROWS[run.kind])
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
        if (tell := _TOLD.get(run.kind)) is not None:
            return tell(json.loads((run.place / RESULTS[run.kind]).read_text("utf-8")))
        if run.kind == "extract":
            about = json.loads(Path(f"{run.place}.meta.json").read_text("utf-8"))
            found = sum(about["summary"]["entities"].values())
            return f"{about['summary']['rows']:,} reports, {found:,} entities"
        summary = json.loads((run.folder / "summary.json").read_text("utf-8"))
        if run.kind in SCORED:
            return _scored(summary)
        if run.kind == "trust":
            routes = ", ".join(f"{count:,} {route}" for route, count in summary["routes"].items())
            return f"{summary['rows']:,} reports: {routes}"
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return ""
    return ""


def _agreed(result: dict[str, Any]) -> str:
    metrics = result["metrics"]
    return f"{result['rows']:,} pairs scored by experts, {len(metrics)} metrics against them"


def _compared(result: dict[str, Any]) -> str:
    means = [f"{each['system']} {each['mean']['value']:.3f}" for each in result["systems"]]
    gate = result.get("gate")
    outcome = "" if not gate else f"; gate {'passed' if gate['passed'] else 'failed'}"
    return f"{result['metric']}: {', '.join(means[:3])}{outcome}"


def _ranked(result: dict[str, Any]) -> str:
    teams = [f"{each['place']:g}. {each['team']}" for each in result["teams"][:3]]
    return f"{len(result['teams']):,} teams on {result['cases']:,} cases: {', '.join(teams)}"


_TOLD = {"agree": _agreed, "compare": _compared, "ranking": _ranked}


def _scored(summary: dict[str, Any]) -> str:
    metrics = summary["metrics"]
    systems = list(dict.fromkeys(name for each in metrics.values() for name in each["systems"]))
    first = next(iter(metrics))
    means = [
        f"{name or 'mean'} {each['mean']:.3f}"
        for name, each in metrics[first]["systems"].items()
        if each.get("mean") is not None
    ]
    count = f"{summary['rows']:,} pairs, {len(systems)} system{'s' if len(systems) != 1 else ''}"
    return f"{count}; {first}: {', '.join(means[:3])}"


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
    """The file that commands are noted in."""
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
