"""The web app of a study: what the coordinator sees, and raters' pages, behind one guard."""

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.io.files import check_there
from histoeval.io.results import ScoredMetric, scores_file
from histoeval.statistics.correlation import MIN_PAIRS
from histoeval.view.terminal.agreement import interval
from histoeval.web.pages import guarded_app, number_in, page
from histoeval.web.study import pages
from histoeval.web.study.access import links_of, tokens_of, visitor_named
from histoeval.web.study.figures import TABLES, GrowthStep, Ratings, figures, table_csv
from histoeval.web.study.plan import COORDINATOR, ExpertStudy, read_study
from histoeval.web.study.store import RaterStore, opened_stores, spelt

HOME = f"/study/{COORDINATOR}/"
PLOT = (560, 160)  # width and height of the picture of agreement as it grows


def coordinator_routes(study: ExpertStudy, stores: Mapping[str, RaterStore]) -> list[BaseRoute]:
    @lru_cache(maxsize=1)
    def scores_of(*_stamp: int) -> Mapping[str, ScoredMetric]:
        return study.metrics()

    def metrics() -> Mapping[str, ScoredMetric]:
        if study.file.run is None:
            return {}
        file = scores_file(study.file.run)
        check_there(file)
        return scores_of(file.stat().st_mtime_ns, file.stat().st_size)

    def ratings() -> Ratings:
        return {rater: store.snapshot() for rater, store in stores.items()}

    def overview(request: Request) -> Response:
        state = figures(study, ratings(), metrics())
        return page(
            request,
            "study_coordinator.html",
            title=f"Study: {study.file.name} ({study.file.pairs.name})",
            scripts=("study_live.js",),
            styles=("study.css",),
            found=state,
            line=_line(state.growth),
            plot=PLOT,
            shown=lambda figure: "" if figure.value is None else interval(figure, 2, 2, " to "),
            needed=MIN_PAIRS,
            spelt=spelt,
            study=study,
            tables=list(TABLES),
            home=HOME,
        )

    def pair(request: Request) -> Response:
        number = number_in(request, "number")
        if not 1 <= number <= len(study.pairs):
            raise HTTPException(404)
        pair, snapshots = study.pairs[number - 1], ratings()
        scores = {name: metric.values.get(pair.key) for name, metric in metrics().items()}
        return page(
            request,
            "study_reading.html",
            title=f"Pair {number} of {len(study.pairs)}",
            styles=("study.css",),
            number=number,
            pairs=len(study.pairs),
            pair=pair,
            lines={rater: snapshot.saved.get(pair.key) for rater, snapshot in snapshots.items()},
            revisions={
                rater: snapshot.revisions.get(pair.key, 0) for rater, snapshot in snapshots.items()
            },
            scored={name: value for name, value in scores.items() if value is not None},
            criteria=study.criteria,
            spelt=spelt,
            home=HOME,
        )

    def table(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in TABLES:
            raise HTTPException(404)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        content = table_csv(name, study, ratings())
        return Response(content, media_type="text/csv; charset=utf-8", headers=headers)

    return [
        Route(HOME, overview),
        Route(f"{HOME}pairs/{{number}}", pair),
        Route(f"{HOME}tables/{{name}}", table),
    ]


def _line(growth: tuple[GrowthStep, ...]) -> str:
    """Return the points of a line of agreement over pairs; alpha from 0 to 1, bottom to top."""
    width, height = PLOT
    points = [
        (width * step.pairs / growth[-1].pairs, height * (1 - min(1.0, max(0.0, step.alpha))))
        for step in growth
    ]
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def create_study_app(path: Path, **names: Any) -> Starlette:
    """Create the app over a study, whose folder is locked until it ends; `names`: see `Guard`."""
    study = read_study(path)
    held = ExitStack()
    stores = held.enter_context(opened_stores(study))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with held:
            yield

    keys = {token: visitor_named(holder) for holder, token in tokens_of(study).items()}
    places = [*coordinator_routes(study, stores), *pages.routes(study, stores)]
    app = guarded_app(places, lifespan, keys=keys, folder=study.folder, **names)
    app.state.study = study
    return app


def study_links(app: Starlette, address: str) -> Iterator[str]:
    """Yield the lines to print for a study: the coordinator's link and that of every rater."""
    links = links_of(app.state.study, address)
    yield f"You, as the coordinator: {links.pop(COORDINATOR)}"
    yield "Send each rater their own link, and nobody else's:"
    width = max(map(len, links))
    yield from (f"  {holder:{width}}  {link}" for holder, link in links.items())
