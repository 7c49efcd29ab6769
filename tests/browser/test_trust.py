"""The page of trust in a real browser, from disk: verdicts filter, by keyboard too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from histoeval.view.run_report import write_run_report
from tests.support.served_runs import write_trust

if TYPE_CHECKING:
    from playwright.sync_api import Page


@pytest.fixture
def link(tmp_path: Path) -> str:
    write_trust(tmp_path / "trust")
    return write_run_report(tmp_path / "trust").as_uri()


def shown(page: Page) -> list[str | None]:
    return [each.get_attribute("id") for each in page.locator("section:visible").all()]


def test_reports_are_narrowed_to_a_verdict(page: Page, link: str) -> None:
    page.goto(link)
    assert shown(page) == ["r3", "r4", "r2", "r1"]
    page.get_by_role("button", name="review 2").click()
    assert shown(page) == ["r4", "r2"]
    assert page.get_by_role("status").inner_text() == "2 of 4 reports shown"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert shown(page) == ["r1"]
    assert page.get_by_role("button", name="deploy 1").get_attribute("aria-pressed") == "true"


def test_a_link_to_a_report_that_is_not_shown_brings_it_back(page: Page, link: str) -> None:
    page.goto(link)
    page.get_by_role("button", name="deploy 1").click()
    page.evaluate("location.hash = '#r3'")
    page.locator("#r3").wait_for(state="visible")
    assert len(shown(page)) == 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_has_no_barrier_with_its_details_open(
    page: Page, link: str, axe: Callable[[Page], list[str]], scheme: str
) -> None:
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.goto(link)
    page.get_by_text("Technical details").click()
    assert axe(page) == []


def test_paper_has_the_colours_of_light_mode(page: Page, link: str) -> None:
    page.goto(link)
    colour = "getComputedStyle(document.querySelector('mark.supported')).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(colour) != light
    page.emulate_media(color_scheme="dark", media="print")
    assert page.evaluate(colour) == light
