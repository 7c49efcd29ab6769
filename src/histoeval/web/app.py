"""The web app over a folder of runs: the places put together behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from histoeval.errors import InputError, MissingDependency
from histoeval.io.folder_kinds import folder_kind, wrong_folder
from histoeval.web import reasons, runs, score, systems, trust
from histoeval.web.jobs import Jobs
from histoeval.web.pages import HANDLERS, show_refusal, static_routes
from histoeval.web.score import Scorer
from histoeval.web.security import LOCAL, OWNER, Guard, Visitor
from histoeval.web.shelf import Shelf

NAV = (
    ("/", "Runs"),
    ("/score", "Score"),
    ("/compare", "Compare"),
    ("/leaderboard", "Leaderboard"),
    ("/review", "Review"),
    ("/slides", "Slides"),
)
"""Address and name of each place, as every page shows them."""


def create_app(
    folder: Path,
    *,
    token: str,
    hosts: Iterable[str] = LOCAL,
    any_address: bool = False,
) -> Starlette:
    """The app over the runs in a folder; whoever has `token` may do everything.

    Studies have an app of their own (`histoeval.web.study.app`): no rater can come near a run.

    `hosts` and `any_address` say by which names it may be called: see `Guard`.
    """
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder; give the folder that holds your runs")
    shelf, jobs, scorer = Shelf(folder), Jobs(), Scorer()
    if folder_kind(folder) is not None and not shelf.runs():
        raise wrong_folder(folder, "holds no runs", "the folder that holds your runs")
    try:
        from histoeval.web.slides import routes

        slides = routes(shelf)
    except MissingDependency:  # without the extra [slide] there are none
        slides = []
    places: list[BaseRoute] = [
        *runs.routes(shelf),
        *score.routes(shelf, jobs, scorer),
        *systems.routes(shelf),
        *reasons.routes(shelf, scorer),
        *trust.routes(shelf),
        *slides,
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        scorer.warm_up()
        yield
        jobs.close()

    keys: Mapping[str, Visitor] = {token: OWNER}
    app = Starlette(
        routes=[*places, *static_routes()],
        lifespan=lifespan,
        middleware=[
            Middleware(Guard, keys=keys, refuse=show_refusal, hosts=hosts, any_address=any_address)
        ],
        exception_handlers=HANDLERS,
    )
    app.state.nav = NAV if slides else tuple(each for each in NAV if each[0] != "/slides")
    app.state.folder = folder
    return app
