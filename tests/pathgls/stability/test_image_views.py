"""What of an image is shown, and how it is stained anew."""

import sys
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("openslide")

from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import Problem
from histoeval.pathgls.stability.image_views import (
    LONGEST,
    ImageViews,
    View,
    encoded,
    restained,
    views_of,
)
from tests.support.fake_vlm import write_picture
from tests.support.painted_slides import glass, put, stained, write_pyramid

Pixels = NDArray[np.float64]
WHITE = (255.0, 255.0, 255.0)


def views(found: ImageViews | Problem) -> ImageViews:
    assert isinstance(found, ImageViews), found
    return found


@pytest.fixture(scope="module")
def slide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = glass(1024, 2100)
    put(page, stained(1024, 2048), 0, 0)
    return write_pyramid(tmp_path_factory.mktemp("slide") / "case.tif", page, 0.5, levels=3)


def test_a_picture_is_shown_as_it_is(tmp_path: Path) -> None:
    pixels = stained(300, 400)
    (view,) = views(views_of(write_picture(tmp_path / "a.png", pixels))).shown
    assert (view.pixels == pixels).all()


def test_a_large_picture_is_shown_smaller_and_that_is_told(tmp_path: Path) -> None:
    found = views(views_of(write_picture(tmp_path / "a.png", stained(200, 1500))))
    assert max(found.shown[0].pixels.shape) == LONGEST
    assert any("1024 x 137" in note for note in found.notes)


def test_a_slide_is_shown_by_tiles_of_a_seeded_sample(slide: Path) -> None:
    first = views(views_of(slide, tiles=3, seed=1))
    again = views(views_of(slide, tiles=3, seed=1))
    other = views(views_of(slide, tiles=3, seed=2))
    names = [view.name for view in first.shown]
    assert len(set(names)) == 3
    assert names == [view.name for view in again.shown]
    assert names != [view.name for view in other.shown]
    assert all(view.pixels.shape == (512, 512, 3) for view in first.shown)


def test_a_slide_can_be_shown_in_one_small_picture(slide: Path) -> None:
    (view,) = views(views_of(slide, look="overview")).shown
    assert max(view.pixels.shape) == LONGEST


@pytest.mark.parametrize(
    ("content", "word"), [(np.zeros((64, 64, 3)), "black"), (np.full((64, 64, 3), 200.0), "colour")]
)
def test_a_picture_that_shows_nothing_is_told(tmp_path: Path, content: Pixels, word: str) -> None:
    found = views_of(write_picture(tmp_path / "a.png", content.astype(np.uint8)))
    assert isinstance(found, Problem)
    assert word in found.message


def test_a_file_that_is_no_image_is_told_without_its_folder(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"no picture")
    for name in ("a.png", "none.png"):
        found = views_of(tmp_path / name)
        assert isinstance(found, Problem)
        assert found.code == "image_unusable"
        assert str(tmp_path) not in found.message


def test_a_missing_pillow_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("histoeval.slides")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    found = views_of(tmp_path / "a.png")
    assert isinstance(found, Problem)
    assert found.code == "missing_dependency"
    assert "histoeval[slide]" in found.message


def test_restaining_follows_the_seed_and_changes_all_views_alike() -> None:
    shown = ImageViews((View("a", stained(128, 128)), View("b", stained(128, 128, seed=5))), WHITE)
    first, again = views(restained(shown, 4, "case")), views(restained(shown, 4, "case"))
    other = views(restained(shown, 5, "case"))
    for mine, same, changed, before in zip(
        first.shown, again.shown, other.shown, shown.shown, strict=True
    ):
        assert (mine.pixels == same.pixels).all()
        assert (mine.pixels != changed.pixels).any()
        assert (mine.pixels != before.pixels).any()
    assert first.notes[0].startswith("stains multiplied by")


def test_no_stain_is_multiplied_by_nearly_one_or_by_more_than_the_paper_does() -> None:
    shown = ImageViews((View("a", stained(128, 128)),), WHITE)
    for seed in range(20):
        note = views(restained(shown, seed, "case")).notes[0]
        for factor in map(float, note.removeprefix("stains multiplied by ").split(" and ")):
            assert 0.1 <= round(abs(factor - 1), 3) <= 0.3


def test_a_tile_without_two_stains_is_restained_with_those_of_the_slide() -> None:
    pale = np.full((128, 128, 3), (240, 200, 220), np.uint8)
    shown = ImageViews((View("a", stained(128, 128)), View("pale", pale)), WHITE)
    assert len(views(restained(shown, 0, "case")).shown) == 2


def test_where_no_stain_can_be_found_there_is_a_problem() -> None:
    grey = np.full((128, 128, 3), 250, np.uint8)
    found = restained(ImageViews((View("a", grey),), WHITE), 0, "case")
    assert isinstance(found, Problem)
    assert found.code == "no_stain"


def test_a_png_loses_nothing_and_a_jpeg_little() -> None:
    pixels = stained(64, 96)
    assert (np.asarray(Image.open(BytesIO(encoded(pixels, "png")))) == pixels).all()
    near = np.asarray(Image.open(BytesIO(encoded(pixels, "jpeg")))).astype(int)
    assert np.abs(near - pixels).mean() < 6
    assert encoded(pixels, "jpeg") == encoded(pixels, "jpeg")
