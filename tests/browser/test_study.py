"""Raters score by keyboard; the server is killed and comes back; nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from benchmarks.rating_study import StudyServer, started, type_answers, write_study
from histoeval.web.study.plan import ExpertStudy, read_study
from histoeval.web.study.store import ratings_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


IMPATIENT = """
for (const _ of [1, 2, 3]) {
  document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
}
"""
"""Enter, three times at once."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, browser: Browser) -> Iterator[StudyServer]:
    """A study of six pairs and a rater for each test, served by a process of its own."""
    raters = ("anna", "ben", "chloe", "dora")
    with started(write_study(tmp_path_factory.mktemp("study"), 6, raters)) as server:
        yield server


@pytest.fixture(scope="module")
def study(server: StudyServer) -> ExpertStudy:
    return read_study(server.plan)


def _open(page: Page, server: StudyServer, rater: str) -> None:
    page.goto(server.links[rater])
    page.keyboard.press("Enter")
    page.wait_for_url("**/pairs/1")


def test_pairs_survive_a_kill(page: Page, server: StudyServer, study: ExpertStudy) -> None:
    _open(page, server, "anna")
    type_answers(page, 3.5)
    page.evaluate(IMPATIENT)
    page.wait_for_url("**/pairs/2")
    for key in ("r", "ArrowRight", "Shift+ArrowRight", "c", "ArrowRight", "m", "4", "Enter", "1"):
        page.keyboard.press(key)
    page.get_by_text("Kept as a draft").wait_for()
    server.kill()
    server.start()
    page.context.clear_cookies()
    page.goto(server.links["anna"])
    assert page.get_by_text("1 of 6 scored").is_visible()
    page.keyboard.press("Enter")
    page.wait_for_url("**/pairs/2")
    assert page.get_by_role("radio", name="1", exact=True).first.is_checked()
    assert "Contradiction, critical" in page.locator("#errors").inner_text()
    assert page.locator("#errors .severity.critical").is_visible()
    for key in (".", "3", "2", "3", "4", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url("**/pairs/3")
    found = ratings_of(study)["anna"]
    assert [found.score_of(pair.key) for pair in study.order("anna")[:3]] == [3.5, 1.5, None]
    assert list(found.revisions.values()) == [1, 1]
    (error,) = found.saved[study.order("anna")[1].key].rating.errors
    for span, text in (
        (error.reference, study.order("anna")[1].reference),
        (error.candidate, study.order("anna")[1].candidate),
    ):
        assert span is not None
        assert text[span.start : span.end] == span.text
        assert len(span.text.split()) == (2 if span is error.reference else 1)


def test_a_save_arrives_later(browser: Browser, server: StudyServer, study: ExpertStudy) -> None:
    page = browser.new_context().new_page()  # its console tells of requests that failed
    _open(page, server, "ben")
    server.kill()
    type_answers(page, 4)
    page.keyboard.press("Enter")
    page.get_by_text("Not saved yet: the server does not answer").wait_for()
    server.start()
    page.wait_for_url("**/pairs/2")
    found = ratings_of(study)["ben"]
    assert found.score_of(study.order("ben")[0].key) == 4
    assert list(found.revisions.values()) == [1]
    page.context.close()


def test_unsent_ratings_are_sent(browser: Browser, server: StudyServer, study: ExpertStudy) -> None:
    page = browser.new_context().new_page()
    _open(page, server, "dora")
    server.kill()
    type_answers(page, 2.5)
    page.keyboard.press("Enter")
    page.get_by_text("Not saved yet").wait_for()
    page.goto("about:blank")
    server.start()
    page.goto(server.links["dora"])
    page.get_by_text("1 of 6 scored").wait_for()
    found = ratings_of(study)["dora"]
    assert found.score_of(study.order("dora")[0].key) == 2.5
    assert list(found.revisions.values()) == [1]
    page.context.close()


def test_two_tabs_do_not_overwrite(page: Page, server: StudyServer, study: ExpertStudy) -> None:
    _open(page, server, "chloe")
    behind = page.context.new_page()
    behind.goto(page.url)
    type_answers(page, 5)
    page.keyboard.press("Enter")
    page.wait_for_url("**/pairs/2")
    type_answers(behind, 0.5)
    behind.keyboard.press("Enter")
    behind.get_by_text("changed in another tab").wait_for()
    key = study.order("chloe")[0].key
    assert ratings_of(study)["chloe"].score_of(key) == 5
    behind.keyboard.press("Enter")
    behind.wait_for_url("**/pairs/2")
    found = ratings_of(study)["chloe"]
    assert (found.score_of(key), found.revisions[key]) == (0.5, 2)


def test_an_answer_that_is_missing_is_asked_for(page: Page, server: StudyServer) -> None:
    page.goto(server.links["chloe"])
    page.keyboard.press("Enter")
    page.wait_for_url("**/pairs/*")
    page.keyboard.press("Enter")
    assert page.get_by_text("Score is not answered yet").is_visible()
    page.keyboard.press("7")
    assert page.get_by_text("7 is not on this scale: press 0 to 5").is_visible()


def test_words_are_picked_with_the_mouse(page: Page, server: StudyServer) -> None:
    page.goto(server.links["chloe"])
    page.get_by_role("link", name="Pair 6, not scored yet").click()
    word = page.locator("[data-side=candidate] span").nth(4)
    word.dblclick()
    page.get_by_role("button", name="Mark as an error").click()
    page.get_by_role("button", name="Mark Enter", exact=False).click()
    assert page.get_by_text("Say how bad it is").is_visible()
    page.get_by_role("radio", name="Minor").check()
    page.keyboard.press("Enter")
    assert not page.get_by_role("alert").is_visible(), "Enter there is not for the page below"
    assert "Invention, minor" in page.locator("#errors").inner_text()
    assert word.get_attribute("data-mark") == "1"
    page.get_by_role("button", name="Remove error 1").click()
    assert page.get_by_text("None yet.").is_visible()
    page.get_by_text("Kept as a draft").wait_for()


def test_no_page_of_a_study_has_a_barrier(
    page: Page, server: StudyServer, axe: Callable[[Page], list[str]]
) -> None:
    home = server.links["chloe"].partition("?")[0]
    page.goto(server.links["chloe"])
    assert axe(page) == []
    page.goto(f"{home}pairs/4")
    assert axe(page) == []
    page.keyboard.press("?")
    assert axe(page) == []
    page.goto(server.links["coordinator"])
    assert axe(page) == []
    page.goto(f"{server.links['coordinator'].partition('?')[0]}pairs/1")
    assert axe(page) == []
