"""Slides appear at once, and memory stays flat, however large they are."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openslide")
pytest.importorskip("uvicorn", reason="the extra [web] is not installed")

from benchmarks.painted_slide import STEPS, paint, write_slide
from tests.support.paths import ROOT


@pytest.mark.release
@pytest.mark.alone
@pytest.mark.parametrize(
    ("width", "height", "levels", "most_ms"),
    [(6_000, 6_000, 1, 500), (6_000, 6_000, 4, 500), (100_000, 60_000, 4, 1000)],
)
def test_the_first_tile_is_quick_and_a_thousand_take_no_more_memory(
    tmp_path: Path, width: int, height: int, levels: int, most_ms: int
) -> None:
    write_slide(tmp_path / "case.tif", width, height, 0.5, paint(1024), STEPS[:levels])
    command = [sys.executable, "-m", "benchmarks.viewer_speed", str(tmp_path), "1000"]
    numbers = subprocess.check_output(command, text=True, cwd=ROOT).split()
    _, first, _, tiles, _, before, after = map(float, numbers)
    assert first < most_ms
    assert tiles == 1000
    assert after < before + 48  # of which 32 are for tiles that are kept
