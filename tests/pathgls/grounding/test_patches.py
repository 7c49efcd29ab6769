"""Patches: where they lie in tiles and pictures, and which are left out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

pytest.importorskip("openslide")

from histoeval.pathgls.grounding.embedded_image import cut, offsets, picture_patches, slide_patches
from histoeval.pathgls.results import Spot
from histoeval.slides.open import open_slide
from histoeval.slides.tiles import TileRequest, plan_tiles
from histoeval.slides.tissue import find_tissue
from tests.support.painted_slides import glass, put, stained, write_pyramid


def test_a_tile_of_512_px_holds_four_patches_and_leaves_64_px_out() -> None:
    assert offsets(512, 224) == [0, 224]


def test_a_rest_of_half_a_patch_gets_one_that_ends_at_the_edge() -> None:
    assert offsets(224 + 112, 224) == [0, 112]
    assert offsets(224 + 111, 224) == [0]


@given(st.integers(1, 3000), st.integers(16, 512))
def test_patches_lie_inside_and_leave_less_than_half_a_patch(length: int, side: int) -> None:
    places = offsets(length, side)
    assert bool(places) == (length >= side)
    assert all(place >= 0 and place + side <= length for place in places)
    assert places == sorted(set(places))
    if places:
        covered = {pixel for place in places for pixel in range(place, place + side)}
        assert (length - len(covered)) * 2 < side


def test_patches_are_told_in_pixels_of_the_finest_level() -> None:
    tile = np.arange(512 * 512 * 3, dtype=np.uint32).astype(np.uint8).reshape(512, 512, 3)
    found = list(cut(tile, Spot(x=1000, y=2000, width=1024, height=1024), 224))
    assert [(p.spot.x, p.spot.y) for p in found] == [
        (1000, 2000),
        (1448, 2000),
        (1000, 2448),
        (1448, 2448),
    ]
    assert {(p.spot.width, p.spot.height) for p in found} == {(448, 448)}
    assert (found[3].pixels == tile[224:448, 224:448]).all()


def test_a_small_picture_is_enlarged_and_told_in_its_own_pixels(tmp_path: Path) -> None:
    path = tmp_path / "small.png"
    Image.fromarray(stained(120, 200)).save(path)
    with open_slide(path) as slide:
        found = list(picture_patches(slide, find_tissue(slide), 224, Counter[str]()))
    assert {patch.pixels.shape for patch in found} == {(224, 224, 3)}
    assert [(p.spot.x, p.spot.y, p.spot.width) for p in found] == [(0, 0, 120), (80, 0, 120)]


def test_glass_and_black_are_left_out_and_counted(tmp_path: Path) -> None:
    page = glass(672, 672)
    put(page, stained(224, 224), 0, 0)
    page[448:, 448:] = 0
    path = tmp_path / "page.png"
    Image.fromarray(page).save(path)
    left_out = Counter[str]()
    with open_slide(path) as slide:
        found = list(picture_patches(slide, find_tissue(slide), 224, left_out))
    assert found[0].spot == Spot(x=0, y=0, width=224, height=224)
    assert left_out["patches that are black"] == 1
    assert len(found) + left_out.total() == 9


def test_patches_of_a_slide_are_its_pixels_at_twenty_times(tmp_path: Path) -> None:
    pixels = stained(1100, 1100, seed=3)
    path = write_pyramid(tmp_path / "slide.tif", pixels, mpp=0.25)
    with open_slide(path) as slide:
        tissue = find_tissue(slide)
        plan = plan_tiles(slide, tissue, TileRequest())
        found = list(slide_patches(slide, plan, tissue, 224, Counter[str]()))
    assert len(found) == 4 * len(plan.places) == 4
    second = found[1]
    assert second.spot == Spot(x=448, y=0, width=448, height=448)
    expected = np.asarray(Image.fromarray(pixels[:448, 448:896]).reduce(2))
    assert np.abs(second.pixels.astype(int) - expected).max() <= 2
