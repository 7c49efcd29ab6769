"""Slides without a browser: tiles, heatmaps and places by address, and addresses that are none."""

import re
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("openslide")
import subprocess
import sys

import pytest
from starlette.testclient import TestClient

from benchmarks.painted_slide import STEPS, paint, write_slide
from histoeval.slides import isolated
from tests.support.painted_slides import spoil, stained, write_pyramid
from tests.support.paths import ROOT
from tests.support.slide_runs import write_slide_run

CASE = r'href="(/slides/[^"]+/[0-9]+)"'


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """No slide stays open for the next test."""
    yield
    isolated._end_all()


@pytest.fixture
def slide(tmp_path: Path) -> Path:
    (tmp_path / "images").mkdir()
    return write_pyramid(tmp_path / "images" / "case.tif", stained(700, 1000), levels=2)


@pytest.fixture
def address(tmp_path: Path, slide: Path, visitor: TestClient) -> str:
    """Where the first case of a run is shown."""
    write_slide_run(tmp_path / "runs" / "mine", slide, (1000, 700), ids=("case <b>1</b>", "two"))
    (first, _) = re.findall(CASE, visitor.get("/slides").text)
    return str(first)


def picture(content: bytes) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    with Image.open(BytesIO(content)) as found:
        assert found.format == "JPEG"
        return np.asarray(found)


def test_slides_of_trust_runs_are_listed(visitor: TestClient, address: str) -> None:
    answer = visitor.get("/slides")
    assert answer.status_code == 200
    assert "case &lt;b&gt;1&lt;/b&gt;" in answer.text
    assert "<b>1</b>" not in answer.text
    assert "case.tif" in answer.text
    assert visitor.get(address.rpartition("/")[0]).status_code == 200


def test_the_list_is_cut_and_says_so(
    visitor: TestClient, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("histoeval.web.slides.LISTED", 1)
    text = visitor.get("/slides").text
    assert "1 further cases" in text
    assert len(re.findall(CASE, text)) == 1


def test_a_page_has_claims_and_facts(visitor: TestClient, address: str, tmp_path: Path) -> None:
    text = visitor.get(address).text
    assert 'data-width="1000" data-height="700" data-side="256"' in text
    assert 'data-mpp="0.5"' in text
    assert "✓ supported" in text
    assert "✕ contradicted" in text
    assert "basal cell carcinoma of the skin" in text
    assert "melanoma of the skin" in text
    assert 'href="#claim-2">2</a>' in text
    assert "&lt;/script&gt;" in text
    assert "(0.41)" not in text
    assert str(tmp_path) not in text
    assert "<script>" not in text


def test_tiles_are_the_pixels_of_the_slide(visitor: TestClient, address: str) -> None:
    answer = visitor.get(f"{address}/tile/10/0/0.jpg")
    assert answer.headers["content-type"] == "image/jpeg"
    assert "private" in answer.headers["cache-control"]
    found = picture(answer.content)
    assert found.shape == (256, 256, 3)
    assert abs(float(found.mean()) - float(stained(700, 1000)[:256, :256].mean())) < 4
    assert picture(visitor.get(f"{address}/tile/10/3/2.jpg").content).shape == (188, 232, 3)


@pytest.mark.parametrize(
    "place",
    ["0/0/0", "11/0/0", "10/4/0", "10/0/3", "10/0/-1", "x/0/0", "10/0/1e3", f"10/{'9' * 5000}/0"],
)
def test_tiles_outside_are_not_found(visitor: TestClient, address: str, place: str) -> None:
    answer = visitor.get(f"{address}/tile/{place}.jpg")
    assert answer.status_code == 404
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("row", ["0", "3", "-1", "a", "..%2f1", "9" * 30])
def test_absent_cases_are_not_found(visitor: TestClient, address: str, row: str) -> None:
    home = address.rpartition("/")[0]
    for rest in ("", "/tile/10/0/0.jpg", "/patches.json", "/heat/1.json", "/qupath.geojson"):
        assert visitor.get(f"{home}/{row}{rest}").status_code == 404
    for bad in ("/slides/nothing-000000", "/slides/nothing-000000/1", "/slides/..%2f..%2fetc/1"):
        assert visitor.get(bad).status_code == 404


def test_the_heatmap_of_a_claim_runs_from_0_to_255(visitor: TestClient, address: str) -> None:
    spots = visitor.get(f"{address}/patches.json").json()["spots"]
    shares = visitor.get(f"{address}/heat/1.json").json()["shares"]
    assert len(spots) == len(shares) == 12
    assert spots[1] == [224, 0, 224, 224]
    assert (min(shares), max(shares)) == (0, 255)
    assert shares == sorted(shares)
    assert visitor.get(f"{address}/heat/2.json").json()["shares"] == shares[::-1]
    for claim in ("0", "3", "99", "x"):
        assert visitor.get(f"{address}/heat/{claim}.json").status_code == 404


def test_places_are_taken_along_as_geojson(visitor: TestClient, address: str) -> None:
    answer = visitor.get(f"{address}/qupath.geojson")
    assert answer.headers["content-type"].startswith("application/geo+json")
    assert answer.headers["content-disposition"] == 'attachment; filename="case-1.geojson"'
    assert len(answer.json()["features"]) == 4 + 12


def test_a_slide_that_has_moved_is_said_and_its_claims_are_still_shown(
    visitor: TestClient, address: str, slide: Path, tmp_path: Path
) -> None:
    kept = slide.read_bytes()
    slide.unlink()
    answer = visitor.get(address)
    assert answer.status_code == 200
    assert "case.tif is not where it was when this run was made" in answer.text
    assert "basal cell carcinoma of the skin" in answer.text
    assert "slide.js" not in answer.text
    assert str(tmp_path) not in answer.text
    assert visitor.get(f"{address}/tile/10/0/0.jpg").status_code == 404
    slide.write_bytes(kept)
    assert "data-width" in visitor.get(address).text


def test_a_file_that_is_no_slide_any_more_is_said(
    visitor: TestClient, address: str, slide: Path, tmp_path: Path
) -> None:
    slide.write_text("not a slide")
    answer = visitor.get(address)
    assert "case.tif is not an image" in answer.text
    assert "has changed since the run" in answer.text
    assert str(tmp_path) not in answer.text
    failed = visitor.get(f"{address}/tile/10/0/0.jpg")
    assert failed.status_code == 422
    assert str(tmp_path) not in failed.text


def test_another_slide_is_noticed(visitor: TestClient, address: str, slide: Path) -> None:
    assert "has changed since the run" not in visitor.get(address).text
    write_pyramid(slide, stained(600, 800, seed=4), levels=1)
    text = visitor.get(address).text
    assert "has changed since the run" in text
    assert 'data-width="800"' in text


def test_a_damaged_tile_is_said(visitor: TestClient, tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "bad.tif", stained(600, 600), levels=1)
    spoil(path, 0, 0)
    write_slide_run(tmp_path / "runs" / "bad", path, (600, 600))
    (home,) = re.findall(CASE, visitor.get("/slides").text)
    assert visitor.get(f"{home}/tile/10/0/0.jpg").status_code == 422
    assert visitor.get(f"{home}/tile/10/1/1.jpg").status_code == 200


def test_a_run_without_scores_has_no_heatmap_and_says_why(
    visitor: TestClient, tmp_path: Path, slide: Path
) -> None:
    write_slide_run(slide.parent / "old", slide, (1000, 700), scores=False)
    (home,) = re.findall(CASE, visitor.get("/slides").text)
    text = visitor.get(home).text
    assert "has kept no scores of single tiles" in text
    assert "data-width" in text
    assert visitor.get(f"{home}/patches.json").status_code == 404
    assert visitor.get(f"{home}/heat/1.json").status_code == 404


def test_a_broken_run_hides_no_other(visitor: TestClient, address: str, tmp_path: Path) -> None:
    broken = tmp_path / "runs" / "broken"
    broken.mkdir()
    for name in ("trust.jsonl.meta.json", "trust.jsonl"):
        (broken / name).write_text("{}\n", "utf-8")
    text = visitor.get("/slides").text
    assert "line 1 of trust.jsonl is not a row of results" in text
    assert address in text


def test_a_picture_is_shown_as_it_is(visitor: TestClient, tmp_path: Path) -> None:
    Image.fromarray(stained(300, 500)).save(tmp_path / "one.png")
    write_slide_run(tmp_path / "runs" / "mine", tmp_path / "one.png", (500, 300))
    (home,) = re.findall(CASE, visitor.get("/slides").text)
    text = visitor.get(home).text
    assert 'data-mpp=""' in text
    assert "too small for a heatmap: it has only 2 tiles" in text
    assert picture(visitor.get(f"{home}/tile/9/1/1.jpg").content).shape == (44, 244, 3)


def test_slide_and_review_lead_to_each_other(visitor: TestClient, address: str) -> None:
    review = address.replace("/slides/", "/review/")
    assert f'href="{review}"' in visitor.get(address).text
    assert f'href="{address}"' in visitor.get(review).text


@pytest.mark.release
@pytest.mark.alone
@pytest.mark.parametrize(
    ("width", "height", "levels", "most_ms"),
    [(6_000, 6_000, 1, 500), (6_000, 6_000, 4, 500), (100_000, 60_000, 4, 1000)],
)
def test_the_first_tile_is_quick_and_a_thousand_take_no_more_memory(
    tmp_path: Path, width: int, height: int, levels: int, most_ms: int
) -> None:
    pytest.importorskip("uvicorn", reason="the extra [web] is not installed")
    write_slide(tmp_path / "case.tif", width, height, 0.5, paint(1024), STEPS[:levels])
    command = [sys.executable, "-m", "benchmarks.viewer_speed", str(tmp_path), "1000"]
    numbers = subprocess.check_output(command, text=True, cwd=ROOT).split()
    _, first, _, tiles, _, before, after = map(float, numbers)
    assert first < most_ms
    assert tiles == 1000
    assert after < before + 48  # of which 32 are for tiles that are kept
