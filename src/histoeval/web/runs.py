"""The runs that are there."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.web.pages import page
from histoeval.web.shelf import Shelf, StoredRun


def routes(shelf: Shelf) -> list[BaseRoute]:
    """The list of runs, and a page for each."""

    def listed(request: Request) -> Response:
        shown = [_entry(run) for run in shelf.runs()]
        return page(request, "serve/runs.html", title="Runs", runs=shown)

    return [Route("/", listed)]


def _entry(run: StoredRun) -> dict[str, object]:
    return {**run._asdict(), "changed": _time(run.changed)}


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
