"""The stylesheet, the scripts and the files of others, as every app serves them."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from histoeval.resources import resource_path
from histoeval.view.html.page import STATIC


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
