"""The web app of a study: raters' pages and the coordinator's, behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.middleware import Middleware

from histoeval.web.pages import HANDLERS, show_refusal
from histoeval.web.security import LOCAL, Guard
from histoeval.web.static import static_routes
from histoeval.web.study import coordinator, pages
from histoeval.web.study.access import links_of, tokens_of, visitor_named
from histoeval.web.study.plan import COORDINATOR, read_study
from histoeval.web.study.store import opened_stores


def create_study_app(
    path: Path, *, hosts: Iterable[str] = LOCAL, any_address: bool = False
) -> Starlette:
    """The app over the study that a file describes; its folder is locked until the app ends.

    `hosts` and `any_address` say by which names it may be called: see `Guard`.
    """
    study = read_study(path)
    held = ExitStack()
    stores = held.enter_context(opened_stores(study))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        with held:
            yield

    keys = {token: visitor_named(who) for who, token in tokens_of(study).items()}
    app = Starlette(
        routes=[
            *coordinator.routes(study, stores),
            *pages.routes(study, stores),
            *static_routes(),
        ],
        middleware=[
            Middleware(Guard, keys=keys, refuse=show_refusal, hosts=hosts, any_address=any_address)
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
    app.state.nav = ()
    app.state.folder = study.folder
    app.state.study = study
    return app


def study_links(app: Starlette, address: str) -> Iterator[str]:
    """What to print of an app of a study: the coordinator's link and that of every rater."""
    links = links_of(app.state.study, address)
    yield f"You, as the coordinator: {links.pop(COORDINATOR)}"
    yield "Send each rater their own link, and nobody else's:"
    width = max(map(len, links))
    yield from (f"  {who:{width}}  {link}" for who, link in links.items())
