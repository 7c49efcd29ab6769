"""The page of a run in a real browser: filters filter, marks light up, the keyboard suffices."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.report_page import in_tab, write_page
from histoeval import write_report
from tests.support.score_runs import make_score_run

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page of a run of 258 pairs."""
    return write_report(make_score_run(tmp_path_factory.mktemp("run"), copies=32)).as_uri()


@pytest.fixture
def opened(page: Page, report: str) -> Page:
    page.goto(report)
    page.wait_for_selector("#table .tabulator-row")
    return page


def count_is(page: Page, text: str) -> None:
    """Waits until the line above the table says so."""
    page.locator("#count", has_text=re.compile(f"^{text}$")).wait_for()


def test_filters_filter_and_are_cleared(opened: Page) -> None:
    count_is(opened, "258 pairs")
    opened.select_option("#f-system", "a")
    opened.select_option("#f-severity", "critical")
    count_is(opened, "32 of 258 pairs")
    opened.select_option("#f-organ", "skin")
    opened.wait_for_selector(".tabulator-placeholder-contents")
    opened.click("text=Clear")
    count_is(opened, "258 pairs")
    opened.select_option("#f-missing", "only")
    count_is(opened, "1 of 258 pairs")
    opened.click("text=Clear")
    opened.fill("#f-to", "0.5")
    count_is(opened, "64 of 258 pairs")


def test_words_of_the_reports_are_found(opened: Page) -> None:
    opened.fill("#f-search", "ulceration is")
    count_is(opened, "64 of 258 pairs")
    opened.fill("#f-search", "skin-1-7")
    count_is(opened, "2 of 258 pairs")


def test_a_number_of_the_headline_shows_its_pairs(opened: Page) -> None:
    opened.click('button[data-system="a"][data-kind="omission"]')
    count_is(opened, "32 of 258 pairs")
    assert opened.input_value("#f-kind") == "omission"


def test_both_sides_light_up_together(opened: Page) -> None:
    opened.fill("#f-search", "breast-1")
    count_is(opened, "64 of 258 pairs")
    opened.keyboard.press("Tab")
    opened.focus(".tabulator-tableholder")
    opened.keyboard.press("ArrowDown")
    opened.wait_for_selector("#pair .text mark")
    opened.hover('.text mark[data-mark~="e1"] >> nth=0')
    lit = "[...document.querySelectorAll('.text mark.lit')].map((mark) => mark.textContent)"
    assert opened.evaluate(lit) == ["Left", "Right"]
    opened.click('button.key[data-mark="e2"]')
    opened.mouse.move(0, 0)
    assert opened.evaluate(lit) == ["grade 2", "grade 3"]
    opened.keyboard.press("Escape")
    assert opened.evaluate(lit) == []


def test_pairs_are_walked_through_by_keyboard(opened: Page) -> None:
    opened.keyboard.press("j")
    opened.wait_for_selector("#pair .text")
    first = opened.inner_text("#pair-name")
    opened.keyboard.press("j")
    opened.locator("#pair-name").filter(has_not_text=first).wait_for()
    opened.keyboard.press("k")
    opened.locator("#pair-name", has_text=first).wait_for()
    opened.keyboard.press("/")
    assert opened.evaluate("document.activeElement.id") == "f-search"


def test_a_hostile_pair_does_no_harm(opened: Page) -> None:
    opened.fill("#f-search", "odd-1")
    count_is(opened, "64 of 258 pairs")
    opened.click(".tabulator-row >> nth=0")
    opened.wait_for_selector("#pair .text")
    assert "alert(1)" in opened.inner_text("#pair .text >> nth=0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_stands_in_the_way_of_anybody(
    opened: Page, axe: Callable[[Page], list[str]], scheme: str, report: str
) -> None:
    opened.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    opened.set_viewport_size({"width": 820, "height": 900})
    opened.keyboard.press("j")
    opened.wait_for_selector("#pair .text")
    opened.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert axe(opened) == []


def test_a_pair_can_be_linked_to(page: Page, report: str) -> None:
    page.goto(f"{report}#pair-1")
    page.wait_for_selector("#pair .text")
    assert page.inner_text("#pair-name").startswith("breast-1, a")


def test_other_pages_open_without_a_fault(
    page: Page, axe: Callable[[Page], list[str]], tmp_path: Path
) -> None:
    import histoeval

    run = make_score_run(tmp_path / "run")
    histoeval.compare(run, metric="marking", resamples=20, permutations=20).write(tmp_path / "two")
    page.goto(write_report(tmp_path / "two").as_uri())
    assert axe(page) == []


@pytest.mark.alone
@pytest.mark.release
def test_ten_thousand_pairs_are_shown_and_filtered_in_time(tmp_path: Path, page: Page) -> None:
    run = make_score_run(tmp_path, copies=10_000 // 8)
    written = write_page(run)
    assert written.seconds < 20
    assert written.file.stat().st_size < 25_000_000
    found = in_tab(page, written.file)
    assert found["first paint"] < 2_000
    assert found["slowest filter"] < 200
