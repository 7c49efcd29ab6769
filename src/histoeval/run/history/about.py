"""What is known of a run: in a few words for a list, and all of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.io.folder_kinds import AGREEMENT, COMPARISON, RANKING
from histoeval.io.row_files import row_lines, stored_as
from histoeval.run.history.commands import read_commands
from histoeval.run.history.shelf import StoredRun

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
