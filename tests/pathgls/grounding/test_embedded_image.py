"""Images as bags of patches: where they lie, how they stream, and what is said of broken input."""

from collections import Counter
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

pytest.importorskip("openslide")

from histoeval.errors import Problem, SettingError
from histoeval.pathgls.grounding import embedded_image as bags
from histoeval.pathgls.grounding.embedded_image import (
    EmbeddedImage,
    embed_image,
    offsets,
    picture_patches,
    slide_patches,
)
from histoeval.pathgls.grounding.encoder import Pixels
from histoeval.pathgls.results import Spot
from histoeval.slides.open import open_slide
from histoeval.slides.tiles import TileRequest, plan_tiles
from histoeval.slides.tissue import find_tissue
from tests.support.colour_encoder import NAMED, CautiousEncoder, ColourEncoder
from tests.support.painted_slides import glass, put, spoil, stained, write_pyramid


def picture(path: Path, pixels: Pixels) -> Path:
    Image.fromarray(pixels).save(path)
    return path


def filled(path: Path, encoder: ColourEncoder | None = None, **options: object) -> EmbeddedImage:
    found = embed_image(path, encoder or ColourEncoder(), **options)  # type: ignore[arg-type]
    assert isinstance(found, EmbeddedImage), found
    return found


def problem(path: Path, **options: object) -> Problem:
    found = embed_image(path, ColourEncoder(), **options)  # type: ignore[arg-type]
    assert isinstance(found, Problem)
    assert str(path.parent) not in found.message
    return found


def tinted(height: int, width: int, colour: tuple[int, int, int]) -> Pixels:
    """Tissue of one colour, not quite even."""
    noise = np.random.default_rng(2).integers(-9, 10, (height, width, 1))
    return (np.array(colour) + noise).astype(np.uint8)


def halves(side: int) -> Pixels:
    """Blue tissue on the left and pink on the right."""
    parts = [tinted(side, side // 2, NAMED[colour]) for colour in ("blue", "pink")]
    return np.concatenate(parts, axis=1)


@lru_cache
def strip(length: int = 2100, height: int = 540) -> Pixels:
    """Tissue that is longer than a picture may be, and not much to paint."""
    return np.tile(stained(height, 525), (1, 1 + length // 525, 1))[:, :length]


def test_a_picture_is_one_tile_whatever_its_resolution(tmp_path: Path) -> None:
    for mpp in (None, 0.25, 2.0):
        bag = filled(write_pyramid(tmp_path / f"{mpp}.tif", stained(512, 512), mpp, levels=1))
        assert [(spot.x, spot.y) for spot in bag.spots] == [(0, 0), (224, 0), (0, 224), (224, 224)]
        assert bag.vectors.shape == (4, 3)


def test_a_slide_is_cut_by_microns(tmp_path: Path) -> None:
    fine = filled(write_pyramid(tmp_path / "fine.tif", strip(height=1080), 0.25))
    plain = filled(write_pyramid(tmp_path / "plain.tif", strip(height=1080), 0.5))
    assert fine.spots[1].x == 448
    assert plain.spots[1].x == 224
    assert (len(fine.spots), len(plain.spots)) == (2 * 4, 8 * 4)


def test_of_a_slide_a_spread_sample_is_looked_at_and_all_where_asked(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", strip(), 0.5)
    everything = filled(path, request=TileRequest())
    some = filled(path, request=TileRequest(sample=2, seed=5))
    assert len(everything.spots) == 16
    assert len(some.spots) == 8
    assert set(some.spots) < set(everything.spots)
    assert any("2 of 4 tiles" in note for note in some.notes)
    assert some.spots == filled(path, request=TileRequest(sample=2, seed=5)).spots


def test_vectors_do_not_depend_on_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = picture(tmp_path / "p.png", halves(1120))
    encoder = ColourEncoder()
    told: list[int] = []
    many = filled(path, encoder, watch=told.append)
    assert max(encoder.batches) <= bags.BATCH
    assert told[-1] == len(many.spots) == 25
    monkeypatch.setattr(bags, "BATCH", 3)
    few = filled(path, encoder)
    assert (few.vectors == many.vectors).all()
    assert few.spots == many.spots


def test_patches_stay_in_place(tmp_path: Path) -> None:
    encoder = ColourEncoder()
    bag = filled(picture(tmp_path / "p.png", halves(896)), encoder)
    blue, pink = encoder.texts(["blue", "pink"])
    for spot, vector in zip(bag.spots, bag.vectors, strict=True):
        assert (vector @ blue > vector @ pink) == (spot.x < 448)


def test_what_the_encoder_does_not_know_is_said_patch_by_patch(tmp_path: Path) -> None:
    page = tinted(448, 448, (120, 190, 110))
    page[224:, 224:] = tinted(224, 224, NAMED["pink"])
    bag = filled(picture(tmp_path / "p.png", page), CautiousEncoder())
    assert bag.unknown == ("too green", "too green", "too green", None)


def test_a_large_picture_is_cut_at_its_own_pixels_and_says_so(tmp_path: Path) -> None:
    bag = filled(picture(tmp_path / "large.png", strip()))
    assert len(bag.spots) == 4 * 4
    assert any("as stored" in note for note in bag.notes)


def test_a_slide_without_microns_per_pixel_asks_for_them(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", strip(), None)
    found = problem(path)
    assert found.code == "mpp_missing"
    assert "mpp=" in found.message
    assert filled(path, mpp=0.5).spots


def test_tiles_that_cannot_be_read_are_counted_and_the_others_looked_at(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", strip(), 0.5, levels=1)
    whole = filled(path)
    spoil(path, 0, 0)
    bag = filled(path)
    assert len(bag.spots) == len(whole.spots) - 4
    assert "1 skipped: tiles that cannot be read" in bag.notes


def test_tiles_smaller_than_a_patch_are_refused(tmp_path: Path) -> None:
    path = write_pyramid(tmp_path / "slide.tif", strip(), 0.5)
    with pytest.raises(SettingError, match="hold no patch"):
        embed_image(path, ColourEncoder(), TileRequest(size=128))


@pytest.mark.parametrize(
    ("pixels", "code"),
    [
        (np.zeros((512, 512, 3), np.uint8), "no_tissue"),
        (np.full((512, 512, 3), 255, np.uint8), "no_tissue"),
        (glass(512, 512), "no_tissue"),
        (glass(300, 2100), "no_tissue"),
        (np.zeros((1, 1, 3), np.uint8), "image_unusable"),
        (stained(111, 400), "image_too_small"),
    ],
    ids=["black", "white", "glass", "large glass", "one pixel", "narrow"],
)
def test_pictures_that_show_nothing(tmp_path: Path, pixels: Pixels, code: str) -> None:
    assert problem(picture(tmp_path / "p.png", pixels)).code == code


def test_files_that_are_no_whole_images_have_a_reason(tmp_path: Path) -> None:
    torn = picture(tmp_path / "torn.png", stained(300, 300))
    torn.write_bytes(torn.read_bytes()[:2000])
    text = tmp_path / "text.png"
    text.write_text("not an image")
    for path in (torn, text, tmp_path / "absent.png"):
        assert problem(path).code == "image_unusable"
    slide = write_pyramid(tmp_path / "slide.svs", strip(), 0.5)
    slide.write_bytes(slide.read_bytes()[: slide.stat().st_size // 2])
    assert problem(slide).code in {"image_truncated", "image_unusable"}


# --- patches --------------------------------------------------------------------------------------


@given(st.integers(1, 3000), st.integers(16, 512))
def test_patches_lie_inside_and_leave_less_than_half_a_patch(length: int, side: int) -> None:
    places = offsets(length, side)
    assert bool(places) == (length >= side)
    assert all(place >= 0 and place + side <= length for place in places)
    assert places == sorted(set(places))
    if places:
        covered = {pixel for place in places for pixel in range(place, place + side)}
        assert (length - len(covered)) * 2 < side


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
