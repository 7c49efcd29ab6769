"""The runs that are there, and a page for each."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.web.jobs import UPLOAD
from histoeval.web.kept import SCORED, Kept
from histoeval.web.pages import page, time_text
from histoeval.web.shelf import Shelf, StoredRun


def routes(shelf: Shelf, kept: Kept) -> list[BaseRoute]:
    """The list of runs, and what can be done with each."""

    def listed(request: Request) -> Response:
        shown = [_entry(run, kept) for run in shelf.runs()]
        return page(request, "serve/runs.html", title="Runs", runs=shown)

    return [Route("/", listed)]


def _entry(run: StoredRun, kept: Kept) -> dict[str, Any]:
    about = kept.once(("about", run.stamp), lambda: about_run(run))
    return {
        **run._asdict(),
        "changed": time_text(run.changed),
        "about": about,
        "address": f"/runs/{run.id}" if run.finished else _unfinished(run),
    }


def _unfinished(run: StoredRun) -> str:
    return f"/runs/{run.id}/progress" if (run.folder / UPLOAD).is_file() else ""


def about_run(run: StoredRun) -> str:
    """What a run is of, in a few words."""
    try:
        summary = json.loads((run.folder / "summary.json").read_text("utf-8"))
        if run.kind in SCORED:
            return _scored(summary)
        if run.kind == "trust":
            routes = ", ".join(f"{count:,} {route}" for route, count in summary["routes"].items())
            return f"{summary['rows']:,} reports: {routes}"
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""
    return ""


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
