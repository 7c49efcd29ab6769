"""The pictures of docs/report.md: `python -m benchmarks.report_picture docs`.

The bundled examples are scored, and the page of that run is photographed in headless chromium.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

WIDTH = 1180
COLOURS = 256
"""Enough for flat colours, and a fraction of the bytes."""

PAIR = "#pair-8"
"""A pair with a critical error that few words give away."""


def take_pictures(folder: Path) -> list[Path]:
    """The headline of a run, and one pair with an error lit up."""
    from playwright.sync_api import sync_playwright

    import histoeval

    source = Path(histoeval.__file__).parent / "examples" / "pairs.csv"
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        run = Path(place) / "run"
        histoeval.score(source, metrics="concordance,hare,bleu", output=run)
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        tab = browser.new_page(viewport={"width": WIDTH, "height": 900}, device_scale_factor=1.5)
        tab.goto(histoeval.write_report(run).as_uri() + PAIR)
        tab.wait_for_selector("#pair .text mark")
        found = [
            _saved(folder / "report_errors.png", _between(tab, "h1", "#means")),
            _lit(tab, folder / "report_pair.png"),
        ]
        browser.close()
    return found


def _lit(tab: Any, file: Path) -> Path:
    tab.click('button.key[data-mark="e1"]')
    return _saved(file, tab.locator("#pair").screenshot())


def _between(tab: Any, first: str, last: str) -> bytes:
    """The page from one element down to another."""
    top, bottom = (tab.locator(each).bounding_box()["y"] for each in (first, last))
    scrolled = tab.evaluate("window.scrollY")
    clip = {"x": 0, "y": top + scrolled - 16, "width": WIDTH, "height": bottom - top}
    picture: bytes = tab.screenshot(full_page=True, clip=clip)
    return picture


def _saved(file: Path, content: bytes) -> Path:
    from PIL import Image

    with Image.open(BytesIO(content)) as picture:
        picture.convert("RGB").quantize(COLOURS).save(file, optimize=True)
    return file


if __name__ == "__main__":
    for path in take_pictures(Path(sys.argv[1])):
        print(path, path.stat().st_size)
