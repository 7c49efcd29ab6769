"""A slide as square tiles on levels of a half, a quarter and so on, as viewers ask for them.

Levels are numbered as in DeepZoom: the highest has the pixels of the slide, each below it half of
them along a side. What the file stores at other scales is read from the coarsest level that is fine
enough and made smaller. A viewer starts at `min_level`: one tile where the file has small levels,
several where it has none, so that the first tile never waits for the whole slide to be decoded.
"""

import math

import numpy as np
from PIL import Image

from histoeval.errors import InputError
from histoeval.slides.slide import Pixels, Slide

SIDE = 256
"""Pixels along a side of a tile."""

REACH = 4
"""Coarser than the coarsest stored level, the levels of a viewer go by this factor."""

BLOCK = 1024
"""Pixels of a stored level along a side that are read at once."""

EXACT = 1e-3
"""A level that differs from a stored one by less is that level."""


class NoSuchTile(InputError):  # noqa: N818 - reads better than NoSuchTileError
    """A tile that lies outside of a slide was asked for."""


class TilePyramid:
    """The tiles of an open slide; level, column and row count from 0."""

    def __init__(self, slide: Slide) -> None:
        self.slide = slide
        longer = max(slide.width, slide.height)
        self.max_level = math.ceil(math.log2(longer))
        single = max(0, self.max_level - math.ceil(math.log2(max(1.0, longer / SIDE))))
        coarsest = slide.levels[-1].downsample * REACH * (1 + EXACT)
        self.min_level = next(
            level for level in range(single, self.max_level + 1) if self.scale(level) <= coarsest
        )

    def scale(self, level: int) -> int:
        """Pixels of the slide along a side for each pixel of a level."""
        return 1 << (self.max_level - level)

    def size(self, level: int) -> tuple[int, int]:
        """Width and height of a level in pixels."""
        scale = self.scale(level)
        return math.ceil(self.slide.width / scale), math.ceil(self.slide.height / scale)

    def grid(self, level: int) -> tuple[int, int]:
        """Columns and rows of tiles on a level."""
        width, height = self.size(level)
        return math.ceil(width / SIDE), math.ceil(height / SIDE)

    def tile(self, level: int, column: int, row: int) -> Pixels:
        """The pixels of a tile; those at the right and lower edge are smaller."""
        if not self.min_level <= level <= self.max_level:
            raise NoSuchTile(
                f"there is no level {level}: they run from {self.min_level} to {self.max_level}"
            )
        columns, rows = self.grid(level)
        if not (0 <= column < columns and 0 <= row < rows):
            raise NoSuchTile(
                f"there is no tile in column {column}, row {row} of level {level}, which has "
                f"{columns} x {rows} tiles"
            )
        width, height = self.size(level)
        left, top = column * SIDE, row * SIDE
        return self._read(level, left, top, min(SIDE, width - left), min(SIDE, height - top))

    def _read(self, level: int, left: int, top: int, width: int, height: int) -> Pixels:
        """A rectangle of a level, in its own pixels."""
        scale = self.scale(level)
        number = max(
            n for n, each in enumerate(self.slide.levels) if each.downsample <= scale * (1 + EXACT)
        )
        stored = self.slide.levels[number]
        across = scale * stored.width / self.slide.width
        down = scale * stored.height / self.slide.height
        if max(abs(across - 1), abs(down - 1)) < EXACT:
            return self.slide.region(number, left, top, width, height)
        if max(width * across, height * down) > BLOCK * (1 + EXACT) and min(width, height) > 1:
            return self._in_parts(level, left, top, width, height)
        box = (left * across, top * down, (left + width) * across, (top + height) * down)
        x, y = math.floor(box[0]), math.floor(box[1])
        right = max(x + 1, min(math.ceil(box[2]), stored.width))
        bottom = max(y + 1, min(math.ceil(box[3]), stored.height))
        pixels = self.slide.region(number, x, y, right - x, bottom - y)
        within = (box[0] - x, box[1] - y, min(box[2], right) - x, min(box[3], bottom) - y)
        shrunk = Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX, within)
        return np.asarray(shrunk)

    def _in_parts(self, level: int, left: int, top: int, width: int, height: int) -> Pixels:
        """The same from four quarters, so that memory does not grow with the scale."""
        half, middle = width // 2, height // 2
        return np.vstack(
            [
                np.hstack([self._read(level, x, y, w, h) for x, w in columns])
                for y, h in ((top, middle), (top + middle, height - middle))
                for columns in [((left, half), (left + half, width - half))]
            ]
        )
