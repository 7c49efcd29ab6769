"""Tissue is found beside ink, bubbles and glass, and where it is pale or fatty."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from histoeval.slides.open import open_slide
from histoeval.slides.overview import make_overview, make_thumbnail
from histoeval.slides.tissue import (
    BLACK,
    find_ink,
    find_tissue,
    optical_density,
    tissue_mask,
    white_of,
)
from tests.support.painted_slides import (
    Pixels,
    draw_bubble,
    draw_ink,
    fat,
    glass,
    put,
    spoil,
    stained,
    write_pyramid,
)

INKS = {
    "blue": (35, 60, 180),
    "light blue": (80, 130, 215),
    "green": (20, 140, 60),
    "light green": (100, 190, 120),
    "red": (205, 25, 35),
    "black": (25, 25, 27),
}


def mask_of(pixels: Pixels) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    density = optical_density(pixels, white_of(pixels))
    return tissue_mask(density, find_ink(density) | (pixels.max(axis=2) < BLACK))


@cache
def soft(height: int, width: int, strength: float = 1.0) -> Pixels:
    """Tissue as an overview shows it, each pixel the mean of many."""
    large = Image.fromarray(stained(height * 6, width * 6, strength=strength, white=243))
    return np.asarray(large.reduce(6))


def test_tissue_is_found_where_it_lies_and_nowhere_else() -> None:
    page = glass(200, 300)
    put(page, soft(80, 120), 60, 50)
    mask = mask_of(page)
    assert mask[50:130, 60:180].mean() > 0.98
    mask[47:133, 57:183] = False
    assert not mask.any()


@pytest.mark.parametrize("ink", INKS)
def test_pen_marks_are_not_tissue(ink: str) -> None:
    page = draw_ink(glass(200, 300), INKS[ink], [20, 30, 150, 170, 280, 40], 12)
    assert mask_of(page).mean() < 0.002
    assert find_ink(optical_density(page, white_of(page))).mean() > 0.04


@pytest.mark.parametrize("ink", INKS)
def test_tissue_beside_a_pen_mark_is_kept_whole(ink: str) -> None:
    page = glass(200, 300)
    put(page, soft(80, 120), 60, 50)
    page = draw_ink(page, INKS[ink], [40, 20, 40, 180, 290, 180], 12)
    mask = mask_of(page)
    assert mask[54:126, 64:176].mean() > 0.98
    assert mask.sum() < 1.1 * 80 * 120


@pytest.mark.parametrize("ink", INKS)
def test_tissue_without_ink_is_never_taken_for_ink(ink: str) -> None:
    page = draw_ink(soft(150, 200), INKS[ink], [20, 100, 180, 100], 12)
    mask = mask_of(page)
    assert mask[:85].mean() > 0.99
    assert mask[118:].mean() > 0.99
    assert not mask[98:102, 40:160].any()


def test_the_rim_of_a_bubble_is_not_tissue_and_what_lies_in_it_is() -> None:
    page = draw_bubble(glass(300, 300), 150, 150, 110)
    assert not mask_of(page).any()
    put(page, soft(80, 80), 110, 110)
    assert mask_of(page)[110:190, 110:190].mean() > 0.98


@pytest.mark.parametrize("strength", [0.15, 0.25, 0.5])
def test_pale_tissue_counts_beside_dark_tissue(strength: float) -> None:
    page = glass(200, 400)
    put(page, soft(100, 100, strength=1.4), 40, 50)
    put(page, soft(100, 100, strength=strength), 240, 50)
    mask = mask_of(page)
    assert mask[50:150, 40:140].mean() > 0.98
    assert mask[52:148, 242:338].mean() > 0.95


def test_fat_is_tissue_though_most_of_it_is_glass() -> None:
    page = glass(200, 300)
    put(page, fat(120, 160), 70, 40)
    mask = mask_of(page)
    assert mask[46:154, 76:224].mean() > 0.95
    assert mask.sum() < 1.1 * 120 * 160


def test_dust_and_grey_shadows_are_not_tissue() -> None:
    page = glass(200, 300)
    page[60:64, 60:64] = (180, 90, 140)
    page[100:180, 100:200] = (190, 190, 191)
    assert not mask_of(page).any()


def test_tinted_glass_is_glass_also_beside_unscanned_white() -> None:
    page = glass(200, 300, (243, 238, 228))
    page[:, :200] = 255
    assert not mask_of(page).any()
    assert white_of(page) == pytest.approx((243, 238, 228), abs=1.5)


def test_immunohistochemistry_is_tissue() -> None:
    brown, blue = np.array([0.27, 0.57, 0.78]), np.array([0.65, 0.70, 0.29])
    page = glass(200, 300)
    put(
        page, np.asarray(Image.fromarray(stained(600, 600, stains=(brown, blue))).reduce(6)), 60, 40
    )
    counter = glass(60, 60, (190, 200, 215))
    put(page, counter, 200, 40)
    mask = mask_of(page)
    assert mask[40:140, 60:160].mean() > 0.98
    assert mask[42:98, 202:258].mean() > 0.95


def test_a_picture_all_in_blue_is_tissue_and_not_ink() -> None:
    giemsa = np.array([0.75, 0.6, 0.1])
    page = np.asarray(Image.fromarray(stained(600, 600, stains=(giemsa, giemsa))).reduce(6))
    assert mask_of(page).all()


def test_a_picture_that_is_all_tissue_is_all_tissue(tmp_path: Path) -> None:
    Image.fromarray(stained(512, 512)).save(tmp_path / "patch.png")
    for mpp in (0.5, None):
        with open_slide(tmp_path / "patch.png", mpp=mpp) as slide:
            assert find_tissue(slide).share == 1


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (glass(400, 600, (0, 0, 0)), "100% of it is black"),
        (glass(400, 600, (244, 244, 244)), "nothing in it is stained"),
        (draw_ink(glass(400, 400), INKS["blue"], [50, 50, 350, 350], 75), "pen ink"),
    ],
)
def test_an_empty_slide_says_what_there_is_instead(
    tmp_path: Path, page: Pixels, reason: str
) -> None:
    Image.fromarray(page).save(tmp_path / "empty.png", compress_level=1)
    with open_slide(tmp_path / "empty.png") as slide:
        tissue = find_tissue(slide)
    assert tissue.share == 0
    assert reason in tissue.why_empty()


@pytest.mark.parametrize("scale", [1, 3, 4, 7.4, 40])
def test_an_overview_is_the_mean_of_squares_whatever_the_levels(
    tmp_path: Path, scale: float
) -> None:
    pixels = stained(700, 1000)
    with open_slide(write_pyramid(tmp_path / "flat.tif", pixels, levels=1)) as slide:
        overview = make_overview(slide, scale)
    factor = int(scale)
    assert overview.scale == factor
    whole = pixels[: 700 // factor * factor, : 1000 // factor * factor].astype(float)
    shape = (700 // factor, factor, 1000 // factor, factor, 3)
    wanted = whole.reshape(shape).mean(axis=(1, 3))
    found = overview.pixels[: shape[0], : shape[2]]
    assert np.abs(found - wanted).max() <= 1


def test_a_coarse_level_is_used_for_a_coarse_overview(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", stained(800, 1024), levels=3)
    spoil(path, 0, 0)
    with open_slide(path) as slide:
        assert make_overview(slide, 8).damage == ()
        overview = make_overview(slide, 1)
        assert len(overview.damage) == 1
        assert overview.damaged.sum() == overview.damaged[:256, :256].sum() == 256 * 256


def test_a_thumbnail_has_the_side_asked_for_and_no_more_than_the_slide(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", stained(600, 1000), levels=2)
    with open_slide(path) as slide:
        assert make_thumbnail(slide, 300).size == (300, 180)
        assert make_thumbnail(slide, 5000).size == (1000, 600)
