"""Tiles are cut by microns, cover the tissue, spread when sampled, and say what is wrong."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from benchmarks.painted_slide import paint, write_slide
from histoeval.errors import InputError, SettingError
from histoeval.slides.open import open_slide
from histoeval.slides.slide import Pixels, Resolution, Slide, levels_of
from histoeval.slides.tiles import (
    TilePlace,
    TilePlan,
    TileRequest,
    plan_tiles,
    read_tiles,
    spread_sample,
)
from histoeval.slides.tissue import find_tissue
from tests.support.painted_slides import glass, put, spoil, stained, write_pyramid
from tests.support.paths import ROOT, SHARED


class Ramp(Slide):
    """A slide whose every pixel says where it lies: red grows to the right, green downwards."""

    def __init__(self, width: int, height: int, mpp: float | tuple[float, float], *steps: int):
        x, y = mpp if isinstance(mpp, tuple) else (mpp, mpp)
        sizes = [(width // step, height // step) for step in (1, *steps)]
        super().__init__(Path("ramp"), "ramp", levels_of(sizes), Resolution(x, y, "file"))
        self.read_levels: set[int] = set()

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        self.read_levels.add(level)
        size = self.levels[level]
        pixels = np.full((height, width, 3), 180, np.uint8)
        pixels[:, :, 0] = (140 + (np.arange(width) + x + 0.5) / size.width * 100)[None, :]
        pixels[:, :, 1] = (40 + (np.arange(height) + y + 0.5) / size.height * 100)[:, None]
        return pixels


def plan_of(slide: Slide, **asked: object) -> TilePlan:
    return plan_tiles(slide, find_tissue(slide), TileRequest(**asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("mpp", "steps", "level", "factor"),
    [
        (0.5, (4, 16), 0, 1),
        (0.25, (4, 16), 0, 2),
        (0.25, (2, 4), 1, 1),
        (0.125, (2, 8), 1, 2),
        (0.125, (4, 16), 1, 1),
        (0.499, (4,), 0, 1),
        (0.2525, (4,), 0, 2),
        (0.3, (2, 4), 0, 0.5 / 0.3),
        (0.55, (4,), 0, 0.5 / 0.55),
    ],
)
def test_the_level_follows_from_microns_and_not_from_its_number(
    mpp: float, steps: tuple[int, ...], level: int, factor: float
) -> None:
    slide = Ramp(2560, 2048, mpp, *steps)
    plan = plan_of(slide)
    assert plan.magnification.level == level
    assert plan.magnification.across == pytest.approx(factor)
    assert plan.mpp == pytest.approx(0.5, rel=0.021)
    slide.read_levels.clear()
    assert {tile.pixels.shape for tile in read_tiles(slide, plan) if tile.pixels is not None} == {
        (512, 512, 3)
    }
    assert slide.read_levels == {level}


@pytest.mark.parametrize("mpp", [0.5, 0.25, 0.3, 0.125, (0.25, 0.3)])
def test_a_tile_shows_the_place_that_it_says(mpp: float | tuple[float, float]) -> None:
    slide = Ramp(5000, 4000, mpp, 4)
    for tile in read_tiles(slide, plan_of(slide)):
        assert tile.pixels is not None
        place = tile.place
        if place.inside < 1:
            continue
        across = 140 + (place.x + place.width * np.array([0.1, 0.5, 0.9])) / 5000 * 100
        down = 40 + (place.y + place.height * np.array([0.1, 0.5, 0.9])) / 4000 * 100
        at = [51, 256, 461]
        assert tile.pixels[256, at, 0] == pytest.approx(across, abs=1.2)
        assert tile.pixels[at, 256, 1] == pytest.approx(down, abs=1.2)


def test_tiles_stand_side_by_side_and_cover_the_slide() -> None:
    slide = Ramp(4100, 3000, 0.25, 4)
    plan = plan_of(slide)
    assert (plan.columns, plan.rows) == (4, 3)
    covered = np.zeros((3072, 4096), int)
    for place in plan.places:
        covered[place.y : place.y + place.height, place.x : place.x + place.width] += 1
    assert (covered == 1).all()
    assert plan.notes == (
        "at the edges less than half a tile was skipped: 4 px on the right, 0 px at the bottom",
    )


def test_a_tile_over_the_edge_says_how_much_of_it_is_inside() -> None:
    slide = Ramp(1024, 900, 0.5)
    tiles = {tile.place.id: tile for tile in read_tiles(slide, plan_of(slide))}
    assert [tile.place.inside for tile in tiles.values()] == [1, 1, 0.7578, 0.7578]
    lowest = tiles["r0001_c0000"].pixels
    assert lowest is not None
    assert (lowest[388:] == 255).all()
    assert not (lowest[:388] == 255).all(axis=2).any()


def test_a_picture_smaller_than_a_tile_is_one_tile(tmp_path: Path) -> None:
    Image.fromarray(stained(224, 224)).save(tmp_path / "patch.png")
    with open_slide(tmp_path / "patch.png", mpp=0.5) as slide:
        (tile,) = read_tiles(slide, plan_of(slide))
    assert tile.place.inside == pytest.approx((224 / 512) ** 2, abs=1e-3)
    assert tile.pixels is not None
    assert np.array_equal(tile.pixels[:224, :224], stained(224, 224))


def test_only_tiles_with_enough_tissue_are_kept(tmp_path: Path) -> None:
    page = glass(1536, 2048)
    put(page, stained(700, 900), 300, 400)
    with open_slide(write_pyramid(tmp_path / "slide.tif", page)) as slide:
        places = {place.id: place for place in plan_of(slide).places}
        shares = {
            f"r{row:04}_c{column:04}": (
                max(0, min(1200, 512 * column + 512) - max(300, 512 * column))
                * max(0, min(1100, 512 * row + 512) - max(400, 512 * row))
                / 512**2
            )
            for row, column in itertools.product(range(3), range(4))
        }
        for name, share in shares.items():
            if name in places:
                assert places[name].tissue == pytest.approx(share, abs=0.1)
            else:
                assert share < 0.35
        assert len(plan_of(slide, tissue=0.0).places) == sum(share > 0 for share in shares.values())
        assert len(plan_of(slide, tissue=0.9).places) == 1


def test_without_microns_tiles_are_refused_unless_pixels_are_wanted_as_they_are(
    tmp_path: Path,
) -> None:
    Image.fromarray(stained(600, 600)).save(tmp_path / "patch.png")
    with open_slide(tmp_path / "patch.png") as slide:
        with pytest.raises(InputError, match=r"does not state its microns per pixel.*--mpp"):
            plan_of(slide)
        plan = plan_of(slide, mpp=None)
        assert plan.mpp is None
        assert [place.width for place in plan.places] == [512]


def test_a_slide_too_coarse_for_the_tiles_is_refused() -> None:
    with pytest.raises(InputError, match=r"1 microns per pixel at its finest.*--at 1\b"):
        plan_of(Ramp(2000, 2000, 1.0))
    assert plan_of(Ramp(2000, 2000, 1.0), mpp=1.0).mpp == 1


def test_no_tissue_or_too_little_is_an_error_with_a_reason(tmp_path: Path) -> None:
    page = glass(1024, 1024)
    for reason in ("no tissue was found; nothing in it is stained", "ask for less"):
        with (
            open_slide(write_pyramid(tmp_path / "slide.tif", page)) as slide,
            pytest.raises(InputError, match=reason),
        ):
            plan_of(slide, tissue=0.5)
        put(page, stained(200, 200), 400, 400)


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


@pytest.mark.parametrize("workers", [1, 3])
def test_a_damaged_tile_has_a_reason_and_its_neighbours_have_pixels(
    tmp_path: Path, workers: int
) -> None:
    path = write_pyramid(tmp_path / "slide.tif", stained(1024, 1536), levels=4)
    spoil(path, 0, 3)
    with open_slide(path) as slide:
        tiles = list(read_tiles(slide, plan_of(slide), workers))
    assert len(tiles) == 6
    for tile in tiles:
        if tile.place.id == "r0000_c0001":
            assert tile.pixels is None
            assert tile.problem is not None
            assert tile.problem.code == "damaged_tile"
        else:
            assert tile.problem is None
            assert tile.pixels is not None


def test_tiles_that_the_overview_cannot_show_are_told_and_not_left_out(tmp_path: Path) -> None:
    page = glass(1024, 2048)
    put(page, stained(1024, 1024), 0, 0)
    path = write_pyramid(tmp_path / "slide.tif", page, levels=1)
    for number in (4, 5, 12, 13):
        spoil(path, 0, number)
    with open_slide(path) as slide:
        plan = plan_of(slide)
        codes = {
            tile.place.id: tile.problem.code if tile.problem else None
            for tile in read_tiles(slide, plan)
        }
    assert codes == {
        **dict.fromkeys(["r0000_c0000", "r0000_c0001", "r0001_c0000", "r0001_c0001"]),
        "r0000_c0002": "damaged_tile",
    }
    assert any("12.5% of the overview cannot be read" in note for note in plan.notes)


def test_black_and_blank_tiles_have_a_reason(tmp_path: Path) -> None:
    page = stained(512, 1536)
    page[:, 512:1024] = 0
    page[:, 1024:] = (200, 120, 170)
    with open_slide(write_pyramid(tmp_path / "slide.tif", page, levels=1)) as slide:
        tissue = find_tissue(slide)
        tissue.mask[:] = True
        tiles = list(read_tiles(slide, plan_tiles(slide, tissue, TileRequest())))
    codes = [tile.problem.code if tile.problem else None for tile in tiles]
    assert codes == [None, "black_tile", "blank_tile"]


@pytest.mark.parametrize(
    "asked", [{"size": 4}, {"size": 10_000}, {"tissue": 1.5}, {"sample": 0}, {"tissue": -0.1}]
)
def test_requests_that_make_no_sense_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(SettingError):
        TileRequest(**asked)  # type: ignore[arg-type]


GRID = [
    TilePlace(row, column, 512 * column, 512 * row, 512, 512, tissue=1.0, inside=1.0)
    for row in range(20)
    for column in range(30)
]


def places(some: list[TilePlace]) -> NDArray[np.int64]:
    return np.array([(place.row, place.column) for place in some])


@settings(max_examples=30)
@given(st.integers(1, 200), st.integers(0, 10_000))
def test_a_sample_has_its_size_no_repeats_and_keeps_the_order(count: int, seed: int) -> None:
    sample = spread_sample(GRID, count, seed)
    assert len(sample) == count == len(set(sample))
    assert sample == sorted(sample, key=lambda place: place.id)
    assert sample == spread_sample(GRID, count, seed)


def test_a_sample_leaves_no_large_part_of_the_slide_out() -> None:
    for seed in range(10):
        sample = places(spread_sample(GRID, 40, seed))
        gaps = [np.hypot(*(sample - spot).T).min() for spot in places(GRID)]
        side = math.sqrt(len(GRID) / 40)
        assert max(gaps) < 2.3 * side
        quarters = {(row // 10, column // 15) for row, column in sample.tolist()}
        assert len(quarters) == 4


def test_another_seed_gives_another_sample_and_a_large_one_is_everything() -> None:
    assert spread_sample(GRID, 50, 1) != spread_sample(GRID, 50, 2)
    assert spread_sample(GRID, 5000, 1) == GRID


REAL = SHARED / "data" / "slides" / "atlas-colon-adenocarcinoma.tif"


@pytest.mark.skipif(not REAL.is_file(), reason="no real slides here")
def test_tiles_of_a_real_slide_are_what_openslide_reads_there() -> None:
    import openslide

    with open_slide(REAL) as slide, openslide.OpenSlide(str(REAL)) as oracle:
        tissue = find_tissue(slide)
        assert 0.6 < tissue.share < 0.85
        for tile in read_tiles(slide, plan_tiles(slide, tissue, TileRequest(sample=6, seed=1))):
            assert tile.pixels is not None
            assert tile.place.inside == 1
            region = oracle.read_region((tile.place.x, tile.place.y), 0, (512, 512))
            assert np.array_equal(tile.pixels, np.asarray(region.convert("RGB")))
