"""The pictures of docs/report.md and docs/serve.md: `python -m benchmarks.report_picture docs`.

The bundled examples are scored, and the page of that run is photographed in headless chromium; so
are two reports that are pasted into `histoeval serve`.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

WIDTH = 1180
COLOURS = 256
"""Enough for flat colours, and a fraction of the bytes."""

PAIR = "#pair-8"
"""A pair with a critical error that few words give away."""


PASTED = {
    "reference": "Left breast, core biopsy: Invasive carcinoma of no special type, grade 2 "
    "(tubules 3, nuclei 2, mitoses 1). ER positive (90%), HER2 negative (1+). Lymphovascular "
    "invasion is not seen. Tumour size 14 mm.",
    "candidate": "Right breast, core biopsy: Invasive carcinoma, grade 3. ER positive (90%), HER2 "
    "negative. Lymphovascular invasion is present. Necrosis is seen.",
}


def take_pictures(folder: Path) -> list[Path]:
    """The headline of a run, one pair with an error lit up, and two reports that were pasted."""
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
        tab.set_default_timeout(120_000)
        page = histoeval.write_report(run).as_uri()
        tab.goto(page)
        tab.wait_for_selector("#table .tabulator-row")
        head = _saved(folder / "report_errors.png", _between(tab, "h1", ".errors-by >> nth=1"))
        tab.evaluate(f"location.hash = '{PAIR}'")
        tab.wait_for_selector("#pair .text mark")
        found = [
            head,
            _lit(tab, folder / "report_pair.png"),
            _pasted(tab, Path(place), folder / "serve.png"),
        ]
        browser.close()
    return found


def _lit(tab: Any, file: Path) -> Path:
    tab.click('button.key[data-mark="e1"]')
    return _saved(file, tab.locator("#pair").screenshot())


def _pasted(tab: Any, served: Path, file: Path) -> Path:
    with _server(served) as link:
        tab.goto(link)
        tab.goto(f"{link.partition('?')[0]}score")
        for side, text in PASTED.items():
            tab.fill(f"#{side}", text)
        tab.get_by_role("button", name="Score", exact=True).click()
        tab.wait_for_selector(".text mark")
        tab.click('button.key[data-mark="e3"]')
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": 760}
        return _saved(file, tab.screenshot(full_page=True, clip=clip))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """The link of `histoeval serve` on a folder."""
    command = [sys.executable, "-m", "histoeval", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield next(
                word for line in process.stdout for word in line.split() if "?token=" in word
            )
        finally:
            process.terminate()


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
