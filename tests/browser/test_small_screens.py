"""No page is wider than a phone: what is wide scrolls in its own box."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from benchmarks.rating_study import started, write_study
from histoeval import write_report
from histoeval.challenge import rank_teams
from histoeval.view.html.challenge import write_views
from histoeval.web.shelf import Shelf
from tests.support.challenges import TRUTH, a_challenge, changed, team
from tests.support.score_runs import make_score_run
from tests.support.served_runs import write_runs, write_studies

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE = {"width": 390, "height": 844}

WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((each) => {
    for (let box = each.parentElement; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return false;
    return each.getBoundingClientRect().right > innerWidth;
  }).map((each) => each.outerHTML.slice(0, 80))"""


def fits(page: Page, address: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    answer = page.goto(address)
    assert answer is None or answer.ok, address
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate(WIDER) == [], address


def test_pages_of_the_server_fit(page: Page, serving: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    write_studies(tmp_path / "studies")
    write_runs(tmp_path)
    runs = [run for run in Shelf(tmp_path).runs() if run.finished and run.kind != "judge"]
    ids = {run.name: run.id for run in runs}
    page.goto(serving(tmp_path))
    home = page.url.rstrip("/")
    two = f"run={ids['first']}&run={ids['nested/second']}"
    places = ["", "score", f"compare?{two}", "leaderboard", "review?state=all", "slides"]
    places += [
        f"review/{ids['trust']}/3",
        f"slides/{ids['trust']}/1",
    ]
    for place in [*places, *(f"runs/{run.id}/" for run in runs)]:
        fits(page, f"{home}/{place}")


def test_a_pair_and_a_ranking_fit(page: Page, tmp_path: Path) -> None:
    run = write_report(make_score_run(tmp_path / "run"))
    fits(page, f"{run.as_uri()}#pair-1")
    page.wait_for_selector("#pair .text mark")
    assert page.evaluate(WIDER) == []
    files = [team(tmp_path, "a_team_of_a_long_name", TRUTH), team(tmp_path, "bad", changed(4))]
    write_views(rank_teams(a_challenge(tmp_path), files, engine="inline").ranking, tmp_path)
    fits(page, (tmp_path / "index.html").as_uri())
    for file in (tmp_path / "teams").glob("*.html"):
        fits(page, file.as_uri())


def test_pages_of_a_study_fit(page: Page, tmp_path: Path) -> None:
    with started(write_study(tmp_path, 3, ("anna",))) as server:
        for who in ("anna", "coordinator"):
            fits(page, server.links[who])
            fits(page, f"{server.links[who].partition('?')[0]}pairs/1")
            page.context.clear_cookies()
