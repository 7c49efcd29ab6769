"""The example of trust: small, painted by its own script, and what its README says of it."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openslide")

from PIL import Image

from histoeval.io.trust_cases import open_cases
from tests.support.paths import EXAMPLES
from tests.support.trust_runs import quick_instruments, rows_of, run  # noqa: F401

FOLDER = EXAMPLES / "trust"


def test_it_is_small_and_every_image_is_there() -> None:
    files = [path for path in FOLDER.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    for case in open_cases(FOLDER / "reports.csv").rows():
        assert case.report is not None
        assert isinstance(case.image, str)
        assert (FOLDER / case.image).is_file()


def test_the_pictures_are_what_the_script_paints() -> None:
    painted = runpy.run_path(str(FOLDER / "paint.py"))["fat"]()
    with Image.open(FOLDER / "fat.jpg") as kept:
        far = np.abs(np.asarray(kept, float) - np.asarray(painted, float)).mean()
    assert far < 6


@pytest.mark.usefixtures("quick")
def test_each_report_shows_what_it_is_meant_to(tmp_path: Path) -> None:
    run("--reports", FOLDER / "reports.csv", "--output", tmp_path / "out", "--no-pictures")
    found = {row["id"]: row for row in rows_of(tmp_path)}
    torn = found["contradicts_itself"]
    assert torn["logic"] < 0.5 < min(found[name]["logic"] for name in ("right", "gives_way"))
    assert torn["evidence"]["logic"]["contradictions"]
    wavering = found["gives_way"]["evidence"]["stability"]
    assert wavering["worst"] == "prompt"
    assert found["right"]["stability"] > 0.8 > found["gives_way"]["stability"]
    assert found["invents"]["stability"] is None
    assert found["invents"]["route"] != "deploy"
