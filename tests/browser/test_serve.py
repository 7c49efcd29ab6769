"""The server in a real browser: no page has an error or a barrier, and the work can be done."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from histoeval.web import score
from histoeval.web.run_index import RunIndex
from histoeval.web.trust import read_reviews
from tests.support.served_runs import BAD, GOOD, REFERENCE, write_runs, write_studies

if TYPE_CHECKING:
    from playwright.sync_api import Page

Axe = Callable[["Page"], list[str]]
Serving = Callable[..., str]


@pytest.fixture(autouse=True)
def _light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only metrics that load no model."""
    monkeypatch.setattr(score, "METRICS", {"bleu": "words", "chrf": "characters"})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("runs"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_opens_without_an_error_or_a_barrier(
    page: Page, serving: Serving, axe: Axe, runs: Path, scheme: str
) -> None:
    ids = {run.name: run.id for run in RunIndex(runs).runs()}
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    link = serving(runs)
    page.goto(link)
    assert "token" not in page.url
    home = page.url.rstrip("/")
    for address in (
        "/",
        "/score",
        f"/runs/{ids['first']}/",
        f"/compare?run={ids['first']}&run={ids['nested/second']}",
        "/leaderboard",
        f"/runs/{ids['judged']}/reasons",
        "/review?state=all",
        f"/review/{ids['trust']}/3",
        f"/runs/{ids['trust']}/",
    ):
        page.goto(home + address)
        assert axe(page) == [], address


def test_studies_open_too(page: Page, serving: Serving, axe: Axe, tmp_path: Path) -> None:
    write_studies(tmp_path)
    page.goto(serving(tmp_path))
    for name in ("agreement", "compared", "read.jsonl"):
        page.get_by_role("link", name="Runs", exact=True).click()
        page.get_by_role("link", name=name, exact=True).click()
        assert axe(page) == [], name
        assert str(tmp_path) not in page.content()


def test_two_texts_are_scored(page: Page, serving: Serving, axe: Axe, tmp_path: Path) -> None:
    page.goto(serving(tmp_path))
    page.get_by_role("link", name="Score", exact=True).click()
    page.get_by_label("Reference", exact=True).fill(REFERENCE)
    page.get_by_label("Candidate", exact=True).fill(BAD)
    page.get_by_role("button", name="Score", exact=True).click()
    assert page.get_by_role("heading", name="Two reports, scored").is_visible()
    assert page.locator("dt", has_text="bleu").is_visible()
    assert axe(page) == []


def test_a_table_is_uploaded(page: Page, serving: Serving, axe: Axe, tmp_path: Path) -> None:
    table = tmp_path / "table" / "pairs.jsonl"
    table.parent.mkdir()
    lines = (f'{{"reference": "{REFERENCE}", "candidate": "{GOOD} {n}"}}' for n in range(40))
    table.write_text("\n".join(lines), "utf-8")
    page.goto(serving(tmp_path))
    page.get_by_role("link", name="Score", exact=True).click()
    page.get_by_label("File").set_input_files(table)
    page.get_by_label("Name of the run").fill("My first run")
    page.get_by_role("button", name="Upload and score").click()
    page.wait_for_url("**/progress")
    page.reload()
    assert axe(page) == []
    page.wait_for_url(re.compile(r"/runs/[^/]+/$"))
    page.get_by_role("heading", level=1, name="Scores").wait_for()
    assert (tmp_path / "my-first-run" / "summary.json").is_file()


def test_a_report_is_reviewed_by_keyboard(page: Page, serving: Serving, tmp_path: Path) -> None:
    write_runs(tmp_path)
    page.goto(serving(tmp_path))
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("link", name="report 3").click()
    page.get_by_label("Your name").fill("Anna")
    page.get_by_label("Comment", exact=True).fill(
        "Another organ; a and s typed here decide nothing."
    )
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("s")
    page.wait_for_url("**/4?decided=3")
    page.keyboard.press("j")
    page.wait_for_url("**/2")
    page.keyboard.press("a")
    page.wait_for_url("**/4?decided=2")
    found = read_reviews(tmp_path / "trust")
    assert {row: each[-1].decision for row, each in found.items()} == {3: "send_back", 2: "accept"}
    assert found[3][0].comment.startswith("Another organ")


def test_the_decision_stays_in_sight(page: Page, serving: Serving, tmp_path: Path) -> None:
    write_runs(tmp_path)
    page.goto(serving(tmp_path))
    page.get_by_role("link", name="Review", exact=True).click()
    page.get_by_role("link", name="report 3").click()
    page.wait_for_load_state()  # the style that keeps the decision in sight comes with the page
    page.evaluate("document.querySelector('.decide > .card').style.height = '3000px'")
    page.evaluate("scrollTo(0, 1500)")
    box = page.get_by_role("button", name="Accept").bounding_box()
    assert box is not None
    assert 0 < box["y"] < 900
