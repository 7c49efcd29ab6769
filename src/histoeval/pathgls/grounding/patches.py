"""Sub-patches of tiles and pictures, as image encoders take them, each with where it lies.

Patches of 224 px lie side by side from the upper left corner of a tile (stride 224, as PathGLS has
it): four in a tile of 512 px. The rest at the right and lower edge is skipped where it is less than
half a patch, as those 64 px are; else one more patch is moved inwards until it ends there.
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from PIL import Image

from histoeval.pathgls.results import Spot
from histoeval.slides.slide import Pixels, Slide
from histoeval.slides.tiles import TilePlan, read_tiles
from histoeval.slides.tissue import BLACK, Tissue

ENLARGED = 2
"""A picture smaller than a patch is enlarged at most this many times; there is no detail beyond."""

LEAST_TISSUE = 0.1
"""Share of a patch that must be tissue; glass supports no claim."""


TILES = {
    "damaged_tile": "tiles that cannot be read",
    "black_tile": "tiles that are black",
    "blank_tile": "tiles of one colour",
}
"""Problems of tiles, human-readable."""


class Patch(NamedTuple):
    """A square of pixels, and where on the image it lies."""

    pixels: Pixels
    spot: Spot


class SkippedPatches(Counter[str]):
    """How many tiles or patches were skipped, by reason."""

    def notes(self) -> tuple[str, ...]:
        """The same, human-readable."""
        return tuple(f"{count} skipped: {reason}" for reason, count in sorted(self.items()))


def offsets(length: int, side: int) -> list[int]:
    """Where patches of this side begin along a length."""
    whole, rest = divmod(length, side)
    places = [number * side for number in range(whole)]
    return [*places, length - side] if whole and rest * 2 >= side else places


def picture_patches(
    slide: Slide, tissue: Tissue, side: int, skipped: SkippedPatches
) -> Iterator[Patch]:
    """The patches of a picture taken as one tile, at its own pixels.

    One that is smaller than a patch is enlarged until its shorter side is as long; the caller has
    checked that this is no more than `ENLARGED` times.
    """
    pixels = slide.region(0, 0, 0, slide.width, slide.height)
    scale = max(1.0, side / min(slide.width, slide.height))
    if scale > 1:
        size = max(side, round(slide.width * scale)), max(side, round(slide.height * scale))
        pixels = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC))
    whole = Spot(x=0, y=0, width=slide.width, height=slide.height)
    yield from _shown(pixels, whole, side, tissue, skipped)


def slide_patches(
    slide: Slide, plan: TilePlan, tissue: Tissue, side: int, skipped: SkippedPatches
) -> Iterator[Patch]:
    """The patches of the tiles of a slide, tile by tile, with a few tiles in memory at a time."""
    for tile in read_tiles(slide, plan):
        if tile.pixels is None:
            code = tile.problem.code if tile.problem else "tiles without pixels"
            skipped[TILES.get(code, code)] += 1
            continue
        place = tile.place
        spot = Spot(x=place.x, y=place.y, width=place.width, height=place.height)
        yield from _shown(tile.pixels, spot, side, tissue, skipped)


def _shown(
    pixels: Pixels, whole: Spot, side: int, tissue: Tissue, skipped: SkippedPatches
) -> Iterator[Patch]:
    """The patches of a tile that show tissue."""
    for patch in cut(pixels, whole, side):
        if patch.pixels.max() < BLACK:
            skipped["patches that are black"] += 1
        elif _tissue_share(tissue, patch.spot) < LEAST_TISSUE:
            skipped["patches with hardly any tissue"] += 1
        else:
            yield patch


def cut(pixels: Pixels, whole: Spot, side: int) -> Iterator[Patch]:
    """All patches of a tile, row by row; `whole` is where the tile lies on the image."""
    height, width = pixels.shape[:2]
    across, down = whole.width / width, whole.height / height
    for y in offsets(height, side):
        for x in offsets(width, side):
            spot = Spot(
                x=whole.x + round(x * across),
                y=whole.y + round(y * down),
                width=max(1, round(side * across)),
                height=max(1, round(side * down)),
            )
            yield Patch(np.ascontiguousarray(pixels[y : y + side, x : x + side]), spot)


def _tissue_share(tissue: Tissue, spot: Spot) -> float:
    """The share of a place that is tissue, or could not be read."""
    top, left = int(spot.y / tissue.scale), int(spot.x / tissue.scale)
    bottom = max(top + 1, round((spot.y + spot.height) / tissue.scale))
    right = max(left + 1, round((spot.x + spot.width) / tissue.scale))
    place = slice(top, bottom), slice(left, right)
    part = tissue.mask[place] | tissue.damaged[place]
    return float(part.mean()) if part.size else 0.0
