"""Time and memory of grounding: tissue, tiles, patches and claims, up to 100,000 x 60,000 px.

`python -m benchmarks grounding [--encoder SPEC] [--all]`. Each slide has a process of its own.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.painted_slide import paint, write_slide
from benchmarks.slide_speed import SIZES, _peak

if TYPE_CHECKING:
    from histoeval.pathgls.results import Claim

PHRASES = (
    "adenocarcinoma of the colon",
    "chronic inflammation of the stomach",
    "necrosis",
    "liver tissue",
)
COLUMNS = ["slide", "patches", "opening, s", "image, s", "claims, s", "all, s", "peak MB"]


def measure(arguments: Sequence[str] = ()) -> list[tuple[str, ...]]:
    """Slide, patches, seconds of each step, and peak memory in MB."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks grounding")
    parser.add_argument("--encoder", default="builtin")
    parser.add_argument("--all", action="store_true", help="all tiles of the smallest slide")
    settings = parser.parse_args(arguments)
    square = paint()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for number, (width, height) in enumerate(SIZES):
            path = Path(folder, f"{width}x{height}.tif")
            write_slide(path, width, height, 0.5, square)
            tiles = "all" if settings.all and not number else "sample"
            command = [sys.executable, "-m", "benchmarks.grounding_speed", str(path)]
            output = subprocess.check_output([*command, settings.encoder, tiles], text=True)
            rows.append((f"{width:,} x {height:,}, {tiles}", *output.split()))
    return rows


def examine(path: Path, spec: str, tiles: str) -> list[str]:
    """Ground a few claims on one slide."""
    from histoeval.pathgls.grounding.decoys import builtin_decoys
    from histoeval.pathgls.grounding.embedded_image import EmbeddedImage, embed_image
    from histoeval.pathgls.grounding.load import open_encoder
    from histoeval.pathgls.grounding.score import ground
    from histoeval.slides.tiles import TileRequest

    start = time.perf_counter()
    encoder = open_encoder(spec)
    opened = time.perf_counter()
    bag = embed_image(path, encoder, TileRequest() if tiles == "all" else None)
    looked = time.perf_counter()
    assert isinstance(bag, EmbeddedImage), bag
    known = bag._replace(unknown=(None,) * len(bag.spots))  # painted tissue is no tissue
    ground(known, [_claim(phrase) for phrase in PHRASES], encoder, builtin_decoys())
    done = time.perf_counter()
    seconds = (opened - start, looked - opened, done - looked, done - start)
    return [f"{len(bag.spots)}", *(f"{each:.1f}" for each in seconds), f"{_peak():.0f}"]


def _claim(phrase: str) -> Claim:
    from histoeval.pathgls.results import Claim, ReportSpan
    from histoeval.report import Assertion, EntityType

    span = ReportSpan(text=phrase, start=0, end=len(phrase))
    kind = EntityType.DIAGNOSIS
    return Claim(span=span, type=kind, assertion=Assertion.PRESENT, phrase=phrase)


if __name__ == "__main__":
    print(*examine(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
