"""What the coordinator sees: progress, agreement, where opinions part, and the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.concordance.evidence import Severity
from histoeval.io.files import check_there
from histoeval.io.results import Key, ScoredMetric, scores_file
from histoeval.statistics.correlation import MIN_PAIRS
from histoeval.statistics.resampling import Estimate
from histoeval.web.pages import number_in, page
from histoeval.web.study.export import (
    SHEET,
    Ratings,
    Rows,
    csv_bytes,
    error_rows,
    rating_rows,
    sheet_rows,
)
from histoeval.web.study.figures import GrowthStep, figures
from histoeval.web.study.plan import COORDINATOR, ExpertStudy
from histoeval.web.study.rating import spelt
from histoeval.web.study.store import RaterStore

HOME = f"/study/{COORDINATOR}/"
TABLES: Mapping[str, Callable[[ExpertStudy, Ratings], Rows]] = {
    SHEET: sheet_rows,
    "ratings.csv": rating_rows,
    "errors.csv": error_rows,
}

PLOT = (560, 160)
"""Width and height of the picture of agreement as it grows."""


def routes(study: ExpertStudy, stores: Mapping[str, RaterStore]) -> list[BaseRoute]:
    """The pages of the coordinator."""
    metrics = _Metrics(study)

    def ratings() -> Ratings:
        return {rater: store.snapshot() for rater, store in stores.items()}

    async def overview(request: Request) -> Response:
        scored = await run_in_threadpool(metrics.read)
        found = await run_in_threadpool(figures, study, ratings(), scored)
        return page(
            request,
            "study_coordinator.html",
            title=f"Study: {study.file.name} ({study.file.pairs.name})",
            scripts=("study_live.js",),
            styles=("study.css",),
            found=found,
            line=_line(found.growth),
            plot=PLOT,
            shown=_shown,
            needed=MIN_PAIRS,
            spelt=spelt,
            study=study,
            tables=list(TABLES),
            home=HOME,
        )

    async def pair(request: Request) -> Response:
        number = number_in(request, "number")
        if not 1 <= number <= len(study.pairs):
            raise HTTPException(404)
        scored = await run_in_threadpool(metrics.read)
        return page(
            request,
            "study_reading.html",
            title=f"Pair {number} of {len(study.pairs)}",
            styles=("study.css",),
            **_reading(study, ratings(), scored, number),
        )

    async def table(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in TABLES:
            raise HTTPException(404)
        content = await run_in_threadpool(lambda: csv_bytes(TABLES[name](study, ratings())))
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    return [
        Route(HOME, overview),
        Route(f"{HOME}pairs/{{number}}", pair),
        Route(f"{HOME}tables/{{name}}", table),
    ]


class _Metrics:
    """The scores of the run that a study names, read again when it has changed."""

    def __init__(self, study: ExpertStudy) -> None:
        self._study = study
        self._stamp: Sequence[int] = ()
        self._found: Mapping[str, ScoredMetric] = {}

    def read(self) -> Mapping[str, ScoredMetric]:
        if self._study.file.run is None:
            return {}
        file = scores_file(self._study.file.run)
        check_there(file)
        stamp = (file.stat().st_mtime_ns, file.stat().st_size)
        if stamp != self._stamp:
            self._found, self._stamp = self._study.metrics(), stamp
        return self._found


def _reading(
    study: ExpertStudy, ratings: Ratings, metrics: Mapping[str, ScoredMetric], number: int
) -> dict[str, Any]:
    """One pair with everything that is said of it."""
    pair = study.pairs[number - 1]
    return {
        "number": number,
        "pairs": len(study.pairs),
        "pair": pair,
        "lines": {rater: each.saved.get(pair.key) for rater, each in ratings.items()},
        "revisions": {rater: each.revisions.get(pair.key, 0) for rater, each in ratings.items()},
        "scored": _values(metrics, pair.key),
        "criteria": study.criteria,
        "severities": {each: each.name.lower() for each in Severity},
        "spelt": spelt,
        "home": HOME,
    }


def _values(metrics: Mapping[str, ScoredMetric], key: Key) -> dict[str, float]:
    return {name: each.values[key] for name, each in metrics.items() if key in each.values}


def _shown(found: Estimate) -> str:
    """A figure with its interval; nothing where there is none yet."""
    if found.value is None:
        return ""
    if found.low is None or found.high is None:
        return f"{found.value:.2f}"
    return f"{found.value:.2f} ({found.low:.2f} to {found.high:.2f})"


def _line(growth: tuple[GrowthStep, ...]) -> str:
    """The points of a line through agreement as it grows; alpha from 0 to 1, bottom to top."""
    if not growth:
        return ""
    width, height = PLOT
    most = growth[-1].pairs
    points = [
        (width * step.pairs / most, height * (1 - min(1.0, max(0.0, step.alpha))))
        for step in growth
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
