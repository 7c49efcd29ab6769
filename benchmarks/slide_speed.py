"""Time and memory of tissue and tiles, up to 100,000 x 60,000 px, and against plain openslide.

`python -m benchmarks slide [--tiles N]`. Memory is that of a process of its own for each slide, and
of the children that read for it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.painted_slide import paint, write_slide

SIZES = ((6_000, 6_000), (25_000, 15_000), (100_000, 60_000))
TRIES = 3
SAMPLED = 1_000


def measure(arguments: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Slide, megapixels, tiles in it, tiles read, seconds of each step, peak memory in MB."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks slide")
    parser.add_argument("--tiles", type=int, default=SAMPLED, help="to read of a large slide")
    settings = parser.parse_args(arguments)
    square = paint()
    with tempfile.TemporaryDirectory() as folder:
        rows = []
        for width, height in SIZES:
            path = Path(folder, f"{width}x{height}.tif")
            write_slide(path, width, height, 0.5, square)
            command = [sys.executable, "-m", "benchmarks.slide_speed", str(path)]
            numbers = subprocess.check_output([*command, str(settings.tiles)], text=True).split()
            rows.append((f"{width:,} x {height:,}", *numbers))
        return rows


def examine(path: Path, most: int) -> list[str]:
    """Find the tissue of a slide and read its tiles one by one, as many as wanted."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.tiles import TileRequest, plan_tiles, read_tiles
    from histoeval.slides.tissue import find_tissue

    start = time.perf_counter()
    with open_slide(path) as slide:
        tissue = find_tissue(slide)
        plan = plan_tiles(slide, tissue, TileRequest(sample=most))
        found = time.perf_counter()
        read = sum(tile.pixels is not None for tile in read_tiles(slide, plan))
    done = time.perf_counter()
    seconds = [f"{found - start:.1f}", f"{done - found:.1f}"]
    return [f"{plan.with_tissue}", f"{read}", *seconds, f"{_peak():.0f}"]


def _processes() -> list[Path]:
    """This process and those that read slides for it, on Linux."""
    from histoeval.slides.isolated import process_ids

    return [Path("/proc", str(number)) for number in ("self", *process_ids())]


def _peak() -> float:
    """Peak memory in MB; the portable counter has that of this process only."""
    if not Path("/proc/self/status").exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / (1e6 if sys.platform == "darwin" else 1e3)
    lines = [line for each in _processes() for line in (each / "status").read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e3


def _work() -> float:
    """Processor time in seconds; the portable counter has that of this process only."""
    if not Path("/proc/self/stat").exists():
        return time.process_time()
    found = [(each / "stat").read_text().rpartition(")")[2].split() for each in _processes()]
    return sum(int(each[11]) + int(each[12]) for each in found) / os.sysconf("SC_CLK_TCK")


def compare() -> list[tuple[str, ...]]:
    """Reader, microns per pixel of the slide, tiles per second, and the ratio to openslide.

    The last column is the ratio of processor time, which does not depend on other processes.
    """
    square = paint()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for mpp in (0.5, 0.25):
            path = Path(folder, f"{mpp}.tif")
            write_slide(path, 6_000, 6_000, mpp, square)
            rows.extend(_ratios(path, mpp))
    return rows


def _ratios(path: Path, mpp: float) -> list[tuple[str, ...]]:
    """The fastest of a few alternating rounds of each, since the machine may be shared."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.tiles import TileRequest, plan_tiles, read_tiles
    from histoeval.slides.tissue import find_tissue

    with open_slide(path) as slide:
        plan = plan_tiles(slide, find_tissue(slide), TileRequest())
    corners = [(place.x, place.y) for place in plan.places]

    def ours(workers: int) -> None:
        with open_slide(path) as slide:
            assert all(tile.pixels is not None for tile in read_tiles(slide, plan, workers))

    ways: dict[str, Callable[[], object]] = {
        "openslide, read_region": lambda: _plain(path, corners, plan.places[0].width),
        "histoeval, 1 thread": lambda: ours(1),
        "histoeval, 2 threads": lambda: ours(2),
    }
    seconds, work = (dict.fromkeys(ways, float("inf")) for _ in range(2))
    for _ in range(TRIES):
        for name, way in ways.items():
            start, before = time.perf_counter(), _work()
            way()
            seconds[name] = min(seconds[name], time.perf_counter() - start)
            work[name] = min(work[name], _work() - before)
    plain = "openslide, read_region"
    return [
        (
            name,
            f"{mpp:g}",
            f"{len(corners) / seconds[name]:.0f}",
            f"{seconds[plain] / seconds[name]:.2f}",
            f"{work[plain] / work[name]:.2f}",
        )
        for name in ways
    ]


def _plain(path: Path, corners: list[tuple[int, int]], side: int) -> None:
    """The straightforward way: the region, resized to the tile, as an array."""
    import openslide

    with openslide.OpenSlide(str(path)) as slide:
        for corner in corners:
            picture = slide.read_region(corner, 0, (side, side)).convert("RGB")
            np.asarray(picture if side == 512 else picture.resize((512, 512)))


if __name__ == "__main__":
    print(*examine(Path(sys.argv[1]), int(sys.argv[2])))
