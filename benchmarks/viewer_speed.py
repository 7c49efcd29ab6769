"""Slides in the browser: time to the first tile, and memory over a thousand tiles.

`python -m benchmarks viewer [--tiles N]`. A server of its own is asked over HTTP for each slide, in
a fresh process: the page of a case first, as a browser does, then tiles of all levels, most of them
never asked for before. Memory is that of the server and of the child that reads the slide.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, OpenerDirector, build_opener

from benchmarks.painted_slide import STEPS, paint, write_slide

COLUMNS = (
    "slide, px",
    "levels",
    "page, ms",
    "first tile, ms",
    "page to first tile, ms",
    "tiles",
    "tile, ms",
    "MB after 100",
    "MB after all",
)
SLIDES = ((6_000, 6_000, STEPS[:1]), (6_000, 6_000, STEPS), (100_000, 60_000, STEPS))
TILES = 1_000
WARM = 100
READING = 2.0
"""Seconds that a person looks at the list of slides before opening one."""
TOKEN = "a-token-for-measuring"


def measure(arguments: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """One row for each slide."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks viewer")
    parser.add_argument("--tiles", type=int, default=TILES, help="to ask for of each slide")
    settings = parser.parse_args(arguments)
    square, rows = paint(), []
    for width, height, steps in SLIDES:
        with tempfile.TemporaryDirectory() as folder:
            write_slide(Path(folder, "case.tif"), width, height, 0.5, square, steps)
            command = [sys.executable, "-m", "benchmarks.viewer_speed", folder]
            numbers = subprocess.check_output([*command, str(settings.tiles)], text=True).split()
            rows.append((f"{width:,} x {height:,}", str(len(steps)), *numbers))
    return rows


def examine(folder: Path, count: int) -> list[str]:
    """Serve a run about the slide in a folder, and look at it as a browser does."""
    from tests.support.slide_runs import write_slide_run

    write_slide_run(folder / "run", folder / "case.tif", (6_000, 6_000))
    home, browser = _served(folder)
    (case,) = re.findall(r'href="(/slides/[^"]+/[0-9]+)"', _get(browser, f"{home}/slides").decode())
    time.sleep(READING)
    start = time.perf_counter()
    page = _get(browser, home + case).decode()
    shown = time.perf_counter()
    facts = {name: int(value) for name, value in re.findall(r'data-([a-z-]+)="([0-9]+)"', page)}
    first = facts["min-level"]
    _get(browser, f"{home}{case}/tile/{first}/0/0.jpg")
    drawn = time.perf_counter()
    after_warm = 0.0
    for number, place in enumerate(_places(facts, count), start=1):
        _get(browser, f"{home}{case}/tile/{place}.jpg")
        if number == min(WARM, count):
            after_warm = _resident()
    done = time.perf_counter()
    times = [shown - start, drawn - shown, drawn - start]
    each = (done - drawn) / count
    return [
        *(f"{1000 * seconds:.0f}" for seconds in times),
        str(count),
        f"{1000 * each:.1f}",
        f"{after_warm:.0f}",
        f"{_resident():.0f}",
    ]


def _served(folder: Path) -> tuple[str, OpenerDirector]:
    """The address of a server over a folder, and a browser that has opened its link."""
    import uvicorn

    from histoeval.web.app import create_app

    app = create_app(folder, token=TOKEN)  # without its start-up, which loads models for scoring
    config = uvicorn.Config(app, port=0, log_level="warning", lifespan="off")
    server = uvicorn.Server(config)
    threading.Thread(target=server.run, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    home = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    _get(browser, f"{home}/?token={TOKEN}")
    return home, browser


def _get(browser: OpenerDirector, address: str) -> bytes:
    with browser.open(address) as answer:
        content: bytes = answer.read()
        return content


def _places(facts: dict[str, int], count: int) -> list[str]:
    """Level, column and row of tiles that are spread over all levels."""
    draw = random.Random(0)
    places = []
    for _ in range(count):
        level = draw.randint(facts["min-level"], facts["max-level"])
        step = facts["side"] << (facts["max-level"] - level)
        columns, rows = -(-facts["width"] // step), -(-facts["height"] // step)
        places.append(f"{level}/{draw.randrange(columns)}/{draw.randrange(rows)}")
    return places


def _resident() -> float:
    """Memory in MB of this process and of those that read slides for it, on Linux."""
    from histoeval.slides.isolated import process_ids

    homes = [Path("/proc", str(number), "status") for number in ("self", *process_ids())]
    lines = [line for home in homes for line in home.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1e3


if __name__ == "__main__":
    print(*examine(Path(sys.argv[1]), int(sys.argv[2])))
