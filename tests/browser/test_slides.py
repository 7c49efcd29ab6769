"""A slide in a real browser: tiles are drawn, claims lead to places and marks back to claims."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("openslide")

from tests.support.painted_slides import stained, write_pyramid
from tests.support.slide_runs import write_slide_run

if TYPE_CHECKING:
    from playwright.sync_api import Page

SIZE = (1792, 1344)

PAINTED = """() => {
  const canvas = document.querySelector("#tiles canvas");
  const {data} = canvas.getContext("2d").getImageData(canvas.width / 2, canvas.height / 2, 64, 64);
  let low = 255, high = 0;
  for (let n = 0; n < data.length; n += 4) if (data[n + 3]) {
    low = Math.min(low, data[n + 1]); high = Math.max(high, data[n + 1]);
  }
  return high - low > 20;
}"""

COLOURED = """() => {
  const heat = document.getElementById("heat");
  const {data} = heat.getContext("2d").getImageData(0, 0, heat.width, heat.height);
  const seen = new Set();
  for (let n = 0; n < data.length; n += 400) if (data[n + 3]) seen.add(data.slice(n, n + 3).join());
  return seen.size > 5;
}"""


@pytest.fixture
def opened(page: Page, serving: Callable[..., str], tmp_path: Path) -> Page:
    """The page of a case, with its slide drawn."""
    slide = write_pyramid(tmp_path / "case.tif", stained(SIZE[1], SIZE[0]), levels=3)
    write_slide_run(tmp_path / "run", slide, SIZE)
    page.emulate_media(reduced_motion="reduce")
    page.goto(serving(tmp_path))
    page.get_by_role("link", name="Slides").click()
    page.get_by_role("link", name="case <b>1</b>").click()
    page.wait_for_selector("#slide[data-ready]")
    page.wait_for_function(PAINTED)
    return page


def middle_of(page: Page, selector: str) -> tuple[float, float]:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def is_in_the_middle(page: Page, selector: str) -> bool:
    (x, y), (middle, height) = middle_of(page, selector), middle_of(page, "#view")
    return abs(x - middle) < 30 and abs(y - height) < 30


def test_a_claim_leads_to_its_place(opened: Page, axe: Callable[[Page], list[str]]) -> None:
    page = opened
    assert axe(page) == []
    page.get_by_role("button", name="Best tile for it, claim 1").click()
    page.wait_for_function("() => document.getElementById('heat').dataset.claim === '1'")
    page.wait_for_function(COLOURED)
    page.wait_for_function(PAINTED)
    assert is_in_the_middle(page, ".frame.spot")
    assert page.locator("#claim-1.chosen").is_visible()
    assert "claim 1: basal cell carcinoma of the skin" in page.locator("#heat-of").inner_text()
    page.get_by_role("button", name="Best tile against it, claim 1").click()
    page.wait_for_timeout(200)
    assert is_in_the_middle(page, ".frame.against")
    page.emulate_media(color_scheme="dark")
    assert axe(page) == []


def test_a_mark_leads_to_its_claim_and_the_report_to_a_place(opened: Page) -> None:
    page = opened
    page.locator("#marks .pin.spot", has_text="2").click()
    assert page.locator("#claim-2.chosen").is_visible()
    focused = page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    assert focused == "Best tile for it, claim 2"
    assert page.locator("#marks .pin.chosen").inner_text() == "2"
    page.locator('.text a[href="#claim-1"]').click()
    assert page.locator("#claim-1.chosen").is_visible()
    page.wait_for_timeout(200)
    assert is_in_the_middle(page, ".frame.spot")


def test_everything_is_done_by_keyboard(opened: Page) -> None:
    page = opened
    page.get_by_role("button", name="Best tile for it, claim 1").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.getElementById('heat').dataset.claim === '2'")
    slider = page.get_by_label("Heatmap")
    slider.focus()
    page.keyboard.press("End")
    assert page.locator("#heat").evaluate("each => each.style.opacity") == "1"
    assert page.locator("#opacity-said").inner_text() == "100 %"
    page.keyboard.press("Home")
    assert page.locator("#heat").evaluate("each => each.style.opacity") == "0"
    before = middle_of(page, "#marks .pin.chosen")
    page.locator("#tiles .openseadragon-canvas").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert middle_of(page, "#marks .pin.chosen")[0] < before[0] - 10
    zoom = page.get_by_role("button", name="Zoom in")
    width = page.locator("#scale").evaluate("each => each.textContent")
    zoom.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    assert page.locator("#scale").evaluate("each => each.textContent") != width
