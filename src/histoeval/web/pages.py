"""Pages of the server: the templates of `view/html` with navigation, and failures for people."""

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from histoeval.errors import HistoEvalError
from histoeval.resources import resource_path
from histoeval.view.html.page import STATIC, Website, fragment, render
from histoeval.web.security import HEADERS, Guard, Visitor, visitor_of

# the heading of a failure, by its status
TITLES = {
    400: "That cannot be done",
    401: "A link with a token is needed",
    403: "Not allowed",
    404: "There is nothing here",
    405: "Not allowed",
    413: "Too large",
    421: "Another server's name",
    500: "Something failed",
}
_DIGITS = 9
_PATH = re.compile(r"(?<![\w.:/])/(?:[\w.+@-]+/)+(?=[\w.+-])")


def page(
    request: Request, template: str, *, title: str, status: int = 200, **context: Any
) -> HTMLResponse:
    """Return a page of the server; every template has `request.url.path` in its navigation."""
    return html_answer(render(template, site=site_of(request), title=title, **context), status)


def part(request: Request, template: str, **context: Any) -> HTMLResponse:
    return html_answer(fragment(template, site=site_of(request), **context))


def html_answer(text: str, status: int = 200, headers: Mapping[str, str] = HEADERS) -> HTMLResponse:
    """Return a page as bytes; half a character, as in a damaged name, is spelled out."""
    return HTMLResponse(text.encode("utf-8", "backslashreplace"), status, headers)


def site_of(request: Request, links: Sequence[tuple[str, str]] = ()) -> Website:
    visitor, path = visitor_of(request), request.url.path
    nav = [entry for entry in request.app.state.nav if visitor.may_open(entry[0])]
    inside = [address for address, _ in nav if address != "/" and path.startswith(address)]
    place = max(inside, key=len, default="/" if path == "/" or path.startswith("/runs") else "")
    return Website(tuple(nav), place, request.scope["csrf"], links)


def page_number(request: Request, items: int, a_page: int) -> tuple[int, int]:
    """Return the requested page of a list, from 1, and the number of pages."""
    pages = max(1, -(-items // a_page))
    text = request.query_params.get("page", "1")
    return min(pages, max(1, int(text) if text.isdecimal() and len(text) < 9 else 1)), pages


def number_in(request: Request, name: str) -> int:
    """Read a number from the address; anything else is a 404."""
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdecimal() and len(text) <= _DIGITS):
        raise HTTPException(404, "There is no such place.")
    return int(text)


def without_paths(message: str, folder: Path) -> str:
    """Shorten the paths in a message to file names, so that it tells nothing of the machine."""
    for path in dict.fromkeys((str(folder), str(folder.resolve()))):
        message = message.replace(f"{path}/", "").replace(path, folder.name)
    return _PATH.sub("…/", message)


async def show_failure(request: Request, error: Exception) -> Response:
    """Show a refusal, an error or a bug as a page that tells nothing of the machine."""
    if isinstance(error, HTTPException):
        status, detail = error.status_code, error.detail
        if (status, detail) == (404, "Not Found"):
            detail = "This address is unknown, or what it showed has been moved or removed."
    elif isinstance(error, HistoEvalError):
        status, detail = 400, without_paths(str(error), request.app.state.folder)
    else:
        status, detail = 500, f"Unexpected error ({type(error).__name__})."
        detail += " The window in which the server runs says more; please file a bug."
    title = TITLES.get(status, "That did not work")
    return page(request, "error.html", title=title, status=status, detail=detail)


class _Static(StaticFiles):
    def file_response(self, *arguments: object, **more: object) -> Response:
        answer = super().file_response(*arguments, **more)  # type: ignore[arg-type]
        answer.headers["Cache-Control"] = "no-cache"
        return answer


def guarded_app(
    routes: Sequence[BaseRoute],
    lifespan: Callable[[Starlette], AbstractAsyncContextManager[None]],
    *,
    keys: Mapping[str, Visitor],
    folder: Path,
    nav: Sequence[tuple[str, str]] = (),
    **names: Any,
) -> Starlette:
    headers = {"Cache-Control": "no-cache"}  # kept by the browser, but asked for again
    style = FileResponse(resource_path("view/html/templates/style.css"), headers=headers)
    static = [
        Route("/static/style.css", lambda _: style),
        Mount("/static", _Static(directory=resource_path(STATIC))),
    ]
    app = Starlette(
        routes=[*routes, *static],
        lifespan=lifespan,
        middleware=[Middleware(Guard, keys=keys, refuse=show_failure, **names)],
        exception_handlers=dict.fromkeys((HTTPException, HistoEvalError, Exception), show_failure),
    )
    app.state.nav = nav
    app.state.folder = folder
    return app
