"""The runs in a folder: found by the files they leave, described, compared and removed.

Which commands have written results, when and by what, is in `commands.jsonl` beside the cache. A
line is added each time that a run begins or resumes. It is not in the folder of the run, whose
files have no date: there the same command leaves the same bytes.

Only files that a verb of ours is known to write are removed, in folders that say that HistoEval
made them. Whatever else lies there stays, and so does its folder.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from math import inf
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from histoeval.argument_names import current_caller
from histoeval.errors import InputError, OutputError
from histoeval.io.files import check_there
from histoeval.io.finished_run import FinishedRun
from histoeval.io.folder_kinds import (
    KINDS,
    SCORE_CACHE,
    TRUST,
    VERB_FILES,
    folder_kind,
    kind_among,
    wrong_folder,
)
from histoeval.io.results import read_rows
from histoeval.io.row_files import row_lines, stored_as
from histoeval.io.store import read_lines
from histoeval.io.writing import locked, make_folder, writing_to
from histoeval.run.compare.systems import differences
from histoeval.runtime.audit import cache_folder
from histoeval.version import __version__

DEPTH = 4  # folders below the one that is searched in which runs are looked for
UPLOAD = "upload.json"  # what `serve` is to score: beside a table that was uploaded
# How the file ends that says of a file of results what made it.
META = tuple(f"{ending}.meta.json" for ending in (".jsonl", ".jsonl.gz", ".parquet"))


class StoredRun(NamedTuple):
    id: str
    name: str
    kind: str
    place: Path  # a folder, or the file that `extract` has written
    changed: float
    finished: bool

    @property
    def folder(self) -> Path:
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def stamp(self) -> tuple[str, float]:
        """A value that changes when the results do."""
        return self.id, self.changed


def stored_runs(folder: Path) -> list[StoredRun]:
    return sorted(_runs_below(folder), key=lambda run: (-run.changed, run.name))


def stored_run(place: Path) -> StoredRun:
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
    for directory, folders, files in os.walk(top):
        path = Path(directory)
        relative = path.relative_to(top)
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        name = "/".join(relative.parts)
        kind = kind_among(files, path)
        is_complete = kind is not None and (kind.is_run or kind is SCORE_CACHE)
        if len(relative.parts) >= DEPTH or (is_complete and name):
            folders.clear()  # what lies in a run belongs to it
        if kind is not None and kind.is_run:
            has_ended = kind.summed_up is None or "summary.json" in files
            file = kind.file_in(files) or ""
            yield from _run(path, name or top.name, kind.name, file, has_ended)
        for file in files:
            rows = file.removesuffix(".meta.json")
            if file.endswith(META) and rows not in rows_of_folders and rows in files:
                yield from _run(path / rows, f"{name}/{rows}".strip("/"), "extract", "", True)


def _run(path: Path, name: str, kind: str, file: str, is_finished: bool) -> Iterator[StoredRun]:
    """Yield the run, unless its file was removed meanwhile or is a dangling link."""
    digest = sha256(name.encode("utf-8", "surrogateescape")).hexdigest()[:6]
    summary = path / "summary.json"
    dated_file = summary if file and is_finished and summary.exists() else path / file
    with suppress(FileNotFoundError):
        changed = dated_file.stat().st_mtime
        yield StoredRun(f"{slug(name) or 'run'}-{digest}", name, kind, path, changed, is_finished)


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-")


SCORED = ("score", "judge")


class RunDetails(NamedTuple):
    run: StoredRun
    rows: int | None
    request: dict[str, Any]
    summary: dict[str, Any]
    commands: list[dict[str, Any]]

    @property
    def version(self) -> str:
        return str(self.summary.get("histoeval") or self.request.get("histoeval") or "")

    @property
    def input(self) -> str:
        source = self.summary.get("input") or self.summary.get("sheet") or {}
        return str(source.get("name", "")) if isinstance(source, dict) else str(source)

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
    """Read the metadata of a run; damaged files are left out."""
    kind = KINDS.get(run.kind)
    meta = run.place / "run.json" if run.place.is_dir() else Path(f"{run.place}.meta.json")
    if kind is not None and run.kind in ("trust", "generate"):
        meta = run.place / f"{kind.rows}.meta.json"
    metadata = _json(meta)
    summary = metadata.get("summary") or {}
    if run.place.is_dir():
        summary = _json(run.place / ((kind and kind.result) or "summary.json"))
    commands = read_commands(run.place)
    if not commands and "command" in summary:
        commands = [{"command": summary["command"]}]
    rows = summary.get("rows", summary.get("pairs", summary.get("cases")))
    if not isinstance(rows, int):
        rows = None
        if kind is not None and kind.rows and not run.finished:  # so far
            file = stored_as(run.place / kind.rows)
            with suppress(OSError, ValueError):
                lines = row_lines(file) if file.exists() else ()
                rows = sum(line.endswith(b"\n") for line in lines)
    return RunDetails(run, rows, metadata.get("run", metadata), summary, commands)


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def about_run(run: StoredRun) -> str:
    """Describe the content of a run in a few words; empty if its summary does not say."""
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
    first_metric, metrics = next(iter(content["metrics"])), content["metrics"].values()
    systems = {name for metric in metrics for name in metric["systems"]}
    means = [
        f"{name or 'mean'} {totals['mean']:.3f}"
        for name, totals in content["metrics"][first_metric]["systems"].items()
        if totals.get("mean") is not None
    ]
    plural = "s" if len(systems) != 1 else ""
    size = f"{content['rows']:,} pairs, {len(systems)} system{plural}"
    return f"{size}; {first_metric}: {', '.join(means[:3])}"


def all_means(summary: dict[str, Any]) -> dict[tuple[str, str], float]:
    metrics = summary.get("metrics")
    return {
        (name, system): totals["mean"]
        for name, metric in (metrics.items() if isinstance(metrics, dict) else ())
        if isinstance(metric, dict)
        for system, totals in metric.get("systems", {}).items()
        if isinstance(totals, dict) and totals.get("mean") is not None
    }


def journal() -> Path:
    return cache_folder() / "commands.jsonl"


def command_line() -> str:
    """Return the command as it was given, to be repeated; URLs lose their query."""
    words = [re.sub(r"(https?://[^?\s]*)\?\S*", r"\1", word) for word in sys.argv[1:]]
    return shlex.join(["histoeval", *words])


def note_command(place: Path) -> None:
    """Note the command that writes results here; failing to do so does not fail the run."""
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
    commands: list[dict[str, Any]] = []
    with suppress(OSError):
        for line in journal().read_bytes().splitlines():
            with suppress(ValueError, RecursionError):
                entry = json.loads(line)
                is_command = isinstance(entry, dict) and "command" in entry
                if is_command and entry.get("place") == str(place.resolve()):
                    commands.append(entry)
    return commands


# --- two runs side by side -----------------------------------------------------------------------

_ROUNDING = 1e-12


class Difference(NamedTuple):
    what: str
    one: Any
    other: Any


class ScoreDifference(NamedTuple):
    id: str
    system: str
    metric: str
    one: float | None
    other: float | None

    @property
    def size(self) -> float:
        """Distance of the two scores; infinite if only one run has a score."""
        if self.one is None or self.other is None:
            return float("inf")
        return abs(self.one - self.other)


class RunDiff(NamedTuple):
    settings: list[Difference]
    signatures: list[Difference]
    means: list[Difference]
    scores: list[ScoreDifference]
    compared: int  # scores that both runs have

    def content(self) -> dict[str, Any]:
        lists = ("settings", "signatures", "means", "scores")
        content = {
            name: [difference._asdict() for difference in getattr(self, name)] for name in lists
        }
        return {**content, "compared": self.compared}


def diff_runs(one: RunDetails, other: RunDetails) -> RunDiff:
    kinds = {
        "scores" if details.run.kind in SCORED else details.run.kind for details in (one, other)
    }
    if len(kinds) > 1:
        raise InputError(
            f"{one.run.place} is of `{one.run.kind}` and {other.run.place} of "
            f"`{other.run.kind}`: there is nothing to compare"
        )
    first, second = _values(one), _values(other)
    scores = [
        ScoreDifference(*key, first.get(key), second.get(key))
        for key in dict.fromkeys([*first, *second])
        if abs(first.get(key, inf) - second.get(key, -inf)) > _ROUNDING
    ]
    return RunDiff(
        settings=_between(_settings(one), _settings(other)),
        signatures=[
            Difference(difference.what, differences(difference.one, difference.other), "")
            if isinstance(difference.one, str) and isinstance(difference.other, str)
            else difference
            for difference in _between(signatures_of(one), signatures_of(other))
        ],
        means=_between(_means(one), _means(other)),
        scores=sorted(scores, key=lambda difference: -difference.size),
        compared=len(first.keys() & second.keys()),
    )


def _settings(details: RunDetails) -> dict[str, Any]:
    """Flatten the settings and versions of a run."""
    request = {name: value for name, value in details.request.items() if name != "metrics"}
    return {
        **flat(request),
        **flat({"versions": details.summary.get("versions", {})}),
        "rows": details.rows,
        "rows with errors": details.errors,
    }


def flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name, value in content.items():
        settings |= (
            flat(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
        )
    return settings


def signatures_of(details: RunDetails) -> dict[str, str]:
    metrics = details.summary.get("metrics")
    if not isinstance(metrics, dict):
        metrics = details.request.get("metrics")
    return {
        name: str(metric.get("signature", "")) if isinstance(metric, dict) else str(metric)
        for name, metric in (metrics.items() if isinstance(metrics, dict) else ())
    }


def _means(details: RunDetails) -> dict[str, Any]:
    means = all_means(details.summary)
    return {f"{metric}, {system}": mean for (metric, system), mean in means.items()}


def _between(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[Difference]:
    names = dict.fromkeys([*first, *second])
    pairs = [Difference(name, first.get(name), second.get(name)) for name in names]
    return [pair for pair in pairs if pair.one != pair.other]


def _values(details: RunDetails) -> dict[tuple[str, str, str], float]:
    run = details.run
    if run.kind in SCORED:
        return {
            (row.id, row.system or "", name): result.value
            for row in read_rows(run.place)
            for name, result in row.scores.items()
        }
    if run.kind == "trust":
        rows = read_lines(run.place / TRUST, json.loads)
        return {(row["id"], "", "trust"): row["trust"] for row in rows if row["trust"] is not None}
    return {}


# --- runs whose time is over ---------------------------------------------------------------------

VERBS = {"score": "score or judge", "judge": "score or judge"}  # how `VERB_FILES` calls verbs
ENDINGS = ("html", "csv", "xlsx", "md", "json")
PAGES = tuple(f"report.{ending}" for ending in ENDINGS)
SCORES_FOLDER = "scores"  # where `agree` keeps the scores that it has made, with their texts
EVIDENCE = ("[0-9]*_*.png", "[0-9]*_patches.npz")


class Removable(NamedTuple):
    """A run with its removable files, or with the reason why it is kept."""

    run: StoredRun
    files: tuple[Path, ...]
    kept: str = ""
    size: int = 0  # bytes of these files before any is removed


def old_runs(folder: Path, older_than: timedelta) -> list[Removable]:
    latest_change = time.time() - older_than.total_seconds()
    removable = []
    for run in stored_runs(folder.resolve()):
        if run.changed > latest_change:
            continue
        files = tuple(dict.fromkeys(_files(run)))
        if not files:
            entry = Removable(run, (), f"runs of `{run.kind}` are not removed")
        elif not details_of(run).version:
            entry = Removable(run, (), "it does not say that histoeval made it")
        else:
            size = sum(file.lstat().st_size for file in files if file.is_file())
            entry = Removable(run, files, size=size)
        removable.append(entry)
    return removable


def _files(run: StoredRun) -> Iterator[Path]:
    name, folder = run.place.name, run.folder
    if not run.place.is_dir():
        pages = [FinishedRun("extract", run.place).beside(ending).name for ending in ENDINGS]
        names = [name, f"{name}.meta.json", f"{name}.rows", f"{name}.lock", *pages]
        yield from (folder / file_name for file_name in names if (folder / file_name).is_file())
        yield from folder.glob(f".{name}*.blocks-*")
        return
    file_names = VERB_FILES.get(VERBS.get(run.kind, run.kind))
    if file_names is None:
        return
    yield from (
        folder / file_name for file_name in (*file_names, *PAGES) if (folder / file_name).is_file()
    )
    scores_folder = folder / SCORES_FOLDER
    if (
        run.kind == "agree"
        and (scores_folder / "run.json").is_file()
        and not scores_folder.is_symlink()
    ):
        names = VERB_FILES["score or judge"]
        yield from (
            scores_folder / file_name
            for file_name in names
            if (scores_folder / file_name).is_file()
        )
    yield from folder.glob(".*.blocks-*")
    for pattern in EVIDENCE if run.kind == "trust" else ():
        yield from (folder / "evidence").glob(pattern)


def remove_run(removable: Removable) -> str:
    """Remove the files of a run, and its folder if empty; return a note on what remains."""
    run = removable.run
    try:
        with locked(run.folder / ".lock", run.place, "it stays"), writing_to(run.place):
            for file in removable.files:
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
    remaining = sorted(path.name for path in run.place.iterdir()) if run.place.is_dir() else []
    return f"not ours, and left there: {', '.join(remaining)}" if remaining else ""
