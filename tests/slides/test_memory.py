"""Memory does not grow with the slide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.painted_slide import BLOCK, paint, write_slide
from histoeval.slides.open import open_slide
from tests.support.paths import ROOT


@pytest.mark.release
def test_a_slide_of_six_gigapixels_is_tiled_in_less_than_1500_mb(tmp_path: Path) -> None:
    path = tmp_path / "large.tif"
    write_slide(path, 100_000, 60_000, 0.5, paint(1024))
    command = [sys.executable, "-m", "benchmarks.slide_speed", str(path), "16"]
    numbers = subprocess.check_output(command, text=True, cwd=ROOT).split()
    with_tissue, read, peak = int(numbers[0]), int(numbers[1]), float(numbers[-1])
    assert with_tissue > 10_000
    assert read == 16
    assert peak < 1500


def test_a_paved_slide_repeats_its_square(tmp_path: Path) -> None:
    square = paint(1024)
    path = tmp_path / "paved.tif"
    write_slide(path, 5000, 3000, 0.5, square)
    with open_slide(path) as slide:
        assert (slide.width, slide.height, len(slide.levels)) == (5000, 3000, 4)
        corner = slide.region(0, 0, 0, BLOCK, BLOCK)
        assert np.abs(corner.astype(int) - square[:BLOCK, :BLOCK]).mean() < 6
        assert np.array_equal(corner, slide.region(0, 3072, 1024, BLOCK, BLOCK))
