"""Tiles for viewers: every pixel of every level is in one tile, and shows what the slide shows."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("openslide")

from histoeval.slides.open import open_slide
from histoeval.slides.open_slides import SIDE, NoSuchTile, TilePyramid
from histoeval.slides.slide import Pixels
from tests.support.painted_slides import stained, write_pyramid


def page(height: int, width: int) -> Pixels:
    """Smooth, so that ways of making it smaller agree."""
    y, x = np.mgrid[:height, :width]
    planes = [255 * x / width, 255 * y / height, 255 * (x + y) / (height + width)]
    return np.stack(planes, axis=2).astype(np.uint8)


def put_together(tiles: TilePyramid, level: int) -> Pixels:
    columns, rows = tiles.grid(level)
    return np.vstack(
        [
            np.hstack([tiles.tile(level, column, row) for column in range(columns)])
            for row in range(rows)
        ]
    )


@pytest.mark.parametrize("stored", [1, 2, 4])
@pytest.mark.parametrize(("height", "width"), [(700, 1100), (513, 512), (1300, 300)])
def test_the_tiles_of_every_level_are_the_slide(
    tmp_path: Path, height: int, width: int, stored: int
) -> None:
    pixels = page(height, width)
    path = write_pyramid(tmp_path / "s.tif", pixels, levels=stored)
    with open_slide(path) as slide:
        tiles = TilePyramid(slide)
        assert (put_together(tiles, tiles.max_level) == pixels).all()
        for level in range(tiles.min_level, tiles.max_level):
            size = tiles.size(level)
            found = put_together(tiles, level)
            assert found.shape[1::-1] == size
            wanted = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BOX))
            difference = np.abs(found.astype(int) - wanted)
            assert np.quantile(difference, 0.98) <= 6  # openslide blends rows at odd edges


@pytest.mark.parametrize(
    ("side", "stored", "scale", "grid"),
    [(200, 1, 1, (1, 1)), (2000, 4, 8, (1, 1)), (3000, 1, 4, (3, 3))],
)
def test_the_first_level_is_one_tile_unless_that_needs_the_whole_slide(
    tmp_path: Path, side: int, stored: int, scale: int, grid: tuple[int, int]
) -> None:
    path = write_pyramid(tmp_path / "s.tif", stained(side, side), levels=stored)
    with open_slide(path) as slide:
        tiles = TilePyramid(slide)
        assert tiles.scale(tiles.min_level) == scale
        assert tiles.grid(tiles.min_level) == grid


def test_large_gaps_between_levels_are_read_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = page(2048, 2048)
    path = write_pyramid(tmp_path / "s.tif", pixels, levels=1)
    with open_slide(path) as slide:
        tiles = TilePyramid(slide)
        read: list[int] = []
        region = slide.region

        def counted(level: int, x: int, y: int, width: int, height: int) -> Pixels:
            read.append(width * height)
            return region(level, x, y, width, height)

        monkeypatch.setattr(slide, "region", counted)
        whole = tiles._read(8, 0, 0, 256, 256)
    assert max(read) <= 1024 * 1024
    wanted = np.asarray(Image.fromarray(pixels).resize((256, 256), Image.Resampling.BOX))
    assert np.abs(whole.astype(int) - wanted).max() <= 2


@pytest.mark.parametrize(
    ("level", "column", "row"),
    [(0, 0, 0), (99, 0, 0), (-1, 0, 0), (10, -1, 0), (10, 0, -1), (10, 4, 0), (10, 0, 3)],
)
def test_what_lies_outside_is_refused(tmp_path: Path, level: int, column: int, row: int) -> None:
    path = write_pyramid(tmp_path / "s.tif", stained(700, 1000), levels=2)
    with open_slide(path) as slide:
        tiles = TilePyramid(slide)
        assert tiles.grid(10) == (4, 3)
        with pytest.raises(NoSuchTile, match="there is no"):
            tiles.tile(level, column, row)
        assert tiles.tile(10, 3, 2).shape == (700 - 2 * SIDE, 1000 - 3 * SIDE, 3)
