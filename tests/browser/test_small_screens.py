"""No page is wider than a phone: what is wide scrolls in its own box."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("starlette", reason="the extra [web] is not installed")

from research.tests.view.test_experiments import row as edited

from benchmarks.rating_study import started, write_study
from histoeval import compare, write_report
from histoeval.challenge import rank_teams
from histoeval.view.html.challenge import write_views
from histoeval.view.run_report import write_run_report
from histoeval.web.run_index import RunIndex
from histoeval_research.view.experiment_tables import experiment_page
from tests.support.challenges import TRUTH, a_challenge, changed, team
from tests.support.score_runs import make_score_run
from tests.support.served_runs import BAD, GOOD, scored, write_runs, write_studies, write_trust

if TYPE_CHECKING:
    from playwright.sync_api import Page

PHONE = {"width": 390, "height": 844}

WIDER = """() => document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("body *")].filter((each) => {
    for (let box = each.parentElement; box; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== "visible") return false;
    return each.getBoundingClientRect().right > innerWidth;
  }).map((each) => each.outerHTML.slice(0, 80))"""


UNMARKED = """() => [...document.querySelectorAll("body *")].filter((each) => {
  const style = getComputedStyle(each);
  return ["auto", "scroll"].includes(style.overflowX) && each.scrollWidth > each.clientWidth + 1
    && !style.backgroundImage.includes("gradient");
}).map((each) => each.outerHTML.slice(0, 80))"""
"""What scrolls sideways without a shadow at its edge."""


def fits(page: Page, address: str) -> None:
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    answer = page.goto(address)
    assert answer is None or answer.ok, address
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate(WIDER) == [], address
    assert page.evaluate(UNMARKED) == [], address


def test_pages_of_the_server_fit(page: Page, serving: Callable[..., str], tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    write_studies(tmp_path / "studies")
    write_runs(tmp_path)
    runs = [run for run in RunIndex(tmp_path).runs() if run.finished and run.kind != "judge"]
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
    assert page.evaluate(WIDER) == page.evaluate(UNMARKED) == []
    page.evaluate("location.hash = '#pair-2'")
    page.wait_for_selector("#pair[data-shown='1']")
    files = [team(tmp_path, "a_team_of_a_long_name", TRUTH), team(tmp_path, "bad", changed(4))]
    write_views(rank_teams(a_challenge(tmp_path), files, engine="inline").ranking, tmp_path)
    fits(page, (tmp_path / "index.html").as_uri())
    for file in (tmp_path / "teams").glob("*.html"):
        fits(page, file.as_uri())


def test_pages_from_disk_fit(page: Page, tmp_path: Path) -> None:
    for name in ("old", "new"):
        scored(tmp_path / name, [GOOD] * 8, [BAD if name == "new" else GOOD] * 8)
    old, new = tmp_path / "old", tmp_path / "new"
    gate = compare(new, baseline=old, metric="bleu", fail_if="bleu drop > 1")
    gate.write(tmp_path / "gate")
    write_trust(tmp_path / "trust")
    for run in ("gate", "trust"):
        fits(page, write_run_report(tmp_path / run).as_uri())
    examples = tmp_path / "examples.html"
    examples.write_text(experiment_page([edited(case=str(n)) for n in range(2)], []), "utf-8")
    fits(page, examples.as_uri())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("worst", [0, 1000])
def test_the_outcome_of_a_gate_can_be_read(
    page: Page, tmp_path: Path, axe: Callable[[Page], list[str]], scheme: str, worst: int
) -> None:
    for name in ("old", "new"):
        scored(tmp_path / name, [GOOD] * 4, [BAD if name == "new" else GOOD] * 4)
    fail_if = f"bleu drop > {worst}"
    found = compare(tmp_path / "new", baseline=tmp_path / "old", metric="bleu", fail_if=fail_if)
    found.write(tmp_path / "gate")
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(write_run_report(tmp_path / "gate").as_uri())
    outcome = "Gate passed" if worst else "Gate failed"
    assert outcome in page.get_by_role("status").first.inner_text()
    assert axe(page) == []


def test_a_table_of_pairs_shows_whole_names(page: Page, tmp_path: Path) -> None:
    page.goto(write_report(make_score_run(tmp_path / "run")).as_uri())
    page.wait_for_selector("#table .tabulator-row")
    cut = """() => [...document.querySelectorAll("[tabulator-field=system], .tabulator-col-title")]
      .filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent)"""
    assert page.evaluate(cut) == []


def test_pages_of_a_study_fit(page: Page, tmp_path: Path) -> None:
    with started(write_study(tmp_path, 3, ("anna",))) as server:
        for who in ("anna", "coordinator"):
            fits(page, server.links[who])
            fits(page, f"{server.links[who].partition('?')[0]}pairs/1")
            page.context.clear_cookies()
