"""A thumbnail of a whole slide, made block by block, so that memory does not grow with it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import InputError
from histoeval.runtime.threads import WORKERS, in_order
from histoeval.slides.slide import WHITE, DamagedRegion, Pixels, Slide

# pixels along a side that are read at once; and where a block is damaged
BLOCK, SMALL_BLOCK = 2048, 256
# of the level that an overview is read from; whole slides have a coarser one for that
MAX_PIXELS = 40_000_000_000
MAX_DAMAGE = 4096  # blocks that may be unreadable; each costs as much time as many readable ones


class Overview(NamedTuple):
    """A downscaled slide; `scale` is the number of level 0 pixels per pixel along a side.

    Unreadable parts are white and marked in `damaged`; `damage` gives the reasons.
    """

    pixels: Pixels
    scale: float
    damaged: NDArray[np.bool_]
    damage: tuple[str, ...]


class _Block(NamedTuple):
    x: int
    y: int
    width: int
    height: int

    @property
    def window(self) -> tuple[slice, slice]:
        return slice(self.y, self.y + self.height), slice(self.x, self.x + self.width)

    def split(self, side: int) -> Iterator[_Block]:
        for y in range(0, self.height, side):
            for x in range(0, self.width, side):
                width, height = min(side, self.width - x), min(side, self.height - y)
                yield _Block(self.x + x, self.y + y, width, height)


def make_overview(slide: Slide, scale: float, workers: int = WORKERS) -> Overview:
    """An overview with one pixel for about `scale` pixels of level 0 along a side (2/3 at least).

    Each pixel is the mean of a square of the coarsest level that is fine enough.
    """
    number = max(n for n, level in enumerate(slide.levels) if level.downsample <= max(scale, 1.0))
    level = slide.levels[number]
    if level.width * level.height > MAX_PIXELS:
        raise InputError(
            f"{slide.path} has {level.width:,} x {level.height:,} px without a smaller level, "
            "which would take hours to read; save it as a pyramidal TIFF"
        )
    factor = max(1, round(scale / level.downsample))
    width, height = math.ceil(level.width / factor), math.ceil(level.height / factor)
    pixels = np.full((height, width, 3), WHITE, np.uint8)
    damaged, damage = np.zeros((height, width), bool), []
    blocks = _Block(0, 0, width, height).split(max(1, BLOCK // factor))
    for parts in in_order(partial(_reduced, slide, number, factor), blocks, workers):
        for block, part in parts:
            if isinstance(part, str):
                damaged[block.window] = True
                damage.append(part)
                if len(damage) > MAX_DAMAGE:
                    raise InputError(
                        f"{slide.path} is damaged in more than {MAX_DAMAGE:,} places; {damage[0]}"
                    )
            else:
                pixels[block.window] = part
    return Overview(pixels, level.downsample * factor, damaged, tuple(damage))


def make_thumbnail(slide: Slide, side: int) -> Image.Image:
    """An image whose longer side has this many pixels, or as many as the slide has."""
    longer = max(slide.width, slide.height)
    shrink = max(1.0, longer / side)
    picture = Image.fromarray(make_overview(slide, shrink / 1.5).pixels)
    size = max(1, round(slide.width / shrink)), max(1, round(slide.height / shrink))
    return picture if picture.size == size else picture.resize(size, Image.Resampling.BOX)


def _reduced(
    slide: Slide, number: int, factor: int, block: _Block
) -> list[tuple[_Block, Pixels | str]]:
    """The downscaled block; if it is damaged, its parts, or the reason of the smallest ones."""
    level = slide.levels[number]
    x, y = block.x * factor, block.y * factor
    width = min(block.width * factor, level.width - x)
    height = min(block.height * factor, level.height - y)
    try:
        pixels = slide.region(number, x, y, width, height)
    except DamagedRegion as error:
        side = max(1, SMALL_BLOCK // factor)
        if max(block.width, block.height) <= side:
            return [(block, str(error))]
        smaller = (_reduced(slide, number, factor, quarter) for quarter in block.split(side))
        return [part for parts in smaller for part in parts]
    if factor > 1:
        pixels = np.asarray(Image.fromarray(pixels).reduce(factor))
    return [(block, pixels)]
