"""Stains are taken apart where they were mixed with known directions, and put back unchanged."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from histoeval.errors import InputError, SettingError
from histoeval.slides.stain import (
    Factors,
    Stains,
    amounts_of,
    draw_factors,
    find_stains,
    perturb,
    pooled,
    restain,
)
from tests.support.painted_slides import EOSIN, HAEMATOXYLIN, Pixels, glass, stained

Vector = NDArray[np.float64]

RECIPES = {
    "textbook": (HAEMATOXYLIN, EOSIN),
    "Macenko's": (np.array([0.56, 0.72, 0.41]), np.array([0.22, 0.80, 0.56])),
    "reddish": (np.array([0.50, 0.80, 0.33]), np.array([0.10, 0.85, 0.50])),
    "brown with blue": (np.array([0.65, 0.70, 0.29]), np.array([0.27, 0.57, 0.78])),
}


def unit(vector: Vector) -> Vector:
    return vector / np.linalg.norm(vector)


def degrees_between(one: Vector, other: Vector) -> float:
    """The angle between two directions of length 1."""
    return float(np.degrees(np.arccos(np.clip(np.dot(one, other), -1, 1))))


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("strength", [0.8, 1.0, 1.5])
def test_known_stains_are_found_within_two_degrees(recipe: str, seed: int, strength: float) -> None:
    first, second = map(unit, RECIPES[recipe])
    pixels = stained(160, 160, seed=seed, strength=strength, stains=(first, second))
    found = find_stains(pixels).vectors
    assert degrees_between(found[0], first) < 2
    assert degrees_between(found[1], second) < 2
    assert np.linalg.norm(found, axis=1) == pytest.approx([1, 1])


STAINS = Stains(np.array([HAEMATOXYLIN, EOSIN]))
WHITE = (255.0, 255.0, 255.0)
ONE_EACH = [stained(128, 128, stains=(each, each)) for each in (EOSIN, HAEMATOXYLIN)]


@pytest.mark.parametrize(
    ("pixels", "white"),
    [
        (stained(256, 256, white=235), (235.0, 235.0, 235.0)),
        (np.concatenate([stained(256, 256), glass(256, 256, (254, 253, 254))]), WHITE),
        (pooled(ONE_EACH), WHITE),
    ],
    ids=["the light of another glass", "glass in the picture", "tiles of one stain each"],
)
def test_stains_are_found_under_another_light_beside_glass_and_over_tiles(
    pixels: Pixels, white: tuple[float, float, float]
) -> None:
    found = find_stains(pixels, white=white).vectors
    assert degrees_between(found[0], HAEMATOXYLIN) < 2
    assert degrees_between(found[1], EOSIN) < 2


def test_the_amounts_are_those_that_were_mixed() -> None:
    blue, pink = np.meshgrid(np.linspace(0.1, 1.2, 20), np.linspace(0.1, 1.0, 20))
    density = blue[:, :, None] * HAEMATOXYLIN + pink[:, :, None] * EOSIN
    pixels = np.rint(255 * np.exp(-density)).astype(np.uint8)
    amounts = amounts_of(pixels, STAINS)
    assert np.abs(amounts[:, :, 0] - blue).max() < 0.02
    assert np.abs(amounts[:, :, 1] - pink).max() < 0.02


@given(st.integers(0, 2**32 - 1))
def test_multiplied_by_one_any_picture_is_the_same_bit_for_bit(seed: int) -> None:
    pixels = np.random.default_rng(seed).integers(0, 256, (24, 24, 3)).astype(np.uint8)
    assert np.array_equal(restain(pixels, STAINS, Factors(1, 1)), pixels)


def test_a_stain_twice_as_strong_is_twice_as_much_of_it() -> None:
    pixels = stained(64, 64, strength=0.5)
    before, after = (
        amounts_of(image, STAINS) for image in (pixels, restain(pixels, STAINS, Factors(2, 1)))
    )
    assert np.abs(after[:, :, 0] - 2 * np.maximum(before[:, :, 0], 0)).max() < 0.06
    assert np.abs(after[:, :, 1] - before[:, :, 1]).max() < 0.06


def test_black_and_white_stay_and_tissue_without_its_stains_is_white() -> None:
    black, white = (np.full((10, 10, 3), light, np.uint8) for light in (0, 255))
    assert np.array_equal(restain(white, STAINS, Factors(1.3, 0.7)), white)
    assert restain(black, STAINS, Factors(1.3, 1.3)).max() == 0
    assert restain(stained(64, 64, strength=0.5), STAINS, Factors(0, 0)).min() > 248


def test_the_same_seed_and_key_give_the_same_picture_and_others_do_not() -> None:
    pixels = stained(128, 128)
    once = perturb(pixels, 7, "r0001_c0002")
    assert np.array_equal(once, perturb(pixels, 7, "r0001_c0002"))
    assert not np.array_equal(once, perturb(pixels, 8, "r0001_c0002"))
    assert not np.array_equal(once, perturb(pixels, 7, "r0001_c0003"))
    assert not np.array_equal(once, pixels)


def test_factors_are_spread_evenly_over_the_range_of_the_paper() -> None:
    drawn = np.array([draw_factors(0, str(n)) for n in range(2000)])
    assert drawn.min() >= 0.7
    assert drawn.max() <= 1.3
    assert drawn.mean(axis=0) == pytest.approx([1, 1], abs=0.02)
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(0, abs=0.06)


@pytest.mark.parametrize(
    ("pixels", "reason"),
    [
        (glass(64, 64), "too little stain to separate two: 0 of 4096"),
        (stained(256, 256, stains=(EOSIN, EOSIN)), "only one stain"),
    ],
)
def test_a_picture_without_two_stains_is_refused(pixels: Pixels, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        find_stains(pixels)


def test_factors_that_make_no_sense_are_refused() -> None:
    with pytest.raises(SettingError, match=r"multiplied by -0\.5"):
        restain(stained(16, 16), STAINS, Factors(1, -0.5))
    with pytest.raises(SettingError, match="between 2 and 1"):
        draw_factors(0, "", (2, 1))


def test_the_glass_of_a_tile_keeps_its_colour() -> None:
    page = glass(128, 256, (236, 234, 238))
    page[:, :128] = stained(128, 128, white=236)
    after = perturb(page, 3, "tile")[:, 132:].astype(int)
    assert np.abs(after - page[:, 132:]).mean() < 1
