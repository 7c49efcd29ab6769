"""The web app over a folder of runs: the places put together behind one guard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from histoeval.errors import InputError
from histoeval.resources import resource_path
from histoeval.view.html.page import STATIC
from histoeval.web import runs
from histoeval.web.pages import HANDLERS, show_refusal
from histoeval.web.security import LOCAL, OWNER, Guard, Visitor
from histoeval.web.shelf import Shelf

NAV = (("/", "Runs"),)
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
    shelf = Shelf(folder)
    keys: Mapping[str, Visitor] = {token: OWNER}
    app = Starlette(
        routes=[*runs.routes(shelf), *static_routes()],
        middleware=[
            Middleware(Guard, keys=keys, refuse=show_refusal, hosts=hosts, any_address=any_address)
        ],
        exception_handlers=HANDLERS,
    )
    app.state.nav = NAV
    app.state.folder = folder
    return app


def static_routes() -> list[BaseRoute]:
    """The stylesheet and the scripts, which may be kept by the browser but are asked for again."""
    looks = resource_path("view/html/templates/style.css")

    async def style(_: Request) -> Response:
        return FileResponse(looks, headers={"Cache-Control": "no-cache"})

    return [
        Route("/static/style.css", style),
        Mount("/static", _Static(directory=resource_path(STATIC))),
    ]


class _Static(StaticFiles):
    def file_response(self, *given: object, **more: object) -> Response:
        answer = super().file_response(*given, **more)  # type: ignore[arg-type]
        answer.headers["Cache-Control"] = "no-cache"
        return answer
