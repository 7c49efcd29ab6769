"""A real browser for tests: `page` fails on console errors and on requests to other hosts."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
TOKEN = "a-token-for-tests"
OURS = {"127.0.0.1", "localhost", ""}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Headless chromium of the system; without it tests are skipped.

    For a file only: while the driver runs, no other test of the process could run an event loop.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("chromium is not installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser without history or cookies."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield context
    context.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """An open tab; at its end nothing may have failed, and nothing was asked of another host."""
    page = context.new_page()
    page.set_default_timeout(20_000)
    faults: list[str] = []
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda asked: faults.extend(_outside(asked.url)))
    yield page
    assert not faults, "\n".join(faults)


def _outside(address: str) -> Iterator[str]:
    parts = urlsplit(address)
    if parts.scheme not in {"data", "blob", "file", "about"} and parts.hostname not in OURS:
        yield f"asked of another host: {address}"


@pytest.fixture(scope="session")
def axe() -> Callable[[Page], list[str]]:
    """Checks a page with axe-core; returns its serious and critical faults."""
    module = pytest.importorskip("axe_playwright_python.sync_playwright")
    checker = module.Axe()

    def faults(page: Page) -> list[str]:
        found: list[dict[str, Any]] = checker.run(page).response["violations"]
        return [
            f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
            for each in found
            if each["impact"] in {"serious", "critical"}
        ]

    return faults


@pytest.fixture
def serving() -> Iterator[Callable[..., str]]:
    """Serves folders while a test runs: `serving(folder)` returns the link with its token."""
    uvicorn = pytest.importorskip("uvicorn", reason="the extra [web] is not installed")
    from histoeval.web.app import create_app

    running: list[tuple[Any, threading.Thread]] = []

    def start(folder: Path, **more: Any) -> str:
        app = create_app(folder, token=TOKEN, **more)
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        running.append((server, thread))
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}/?token={TOKEN}"

    yield start
    for server, thread in running:
        server.should_exit = True
        thread.join(10)
