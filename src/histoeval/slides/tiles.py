"""Tiles of a slide: a grid by physical size, filtered by tissue, sampled, and read.

Everything that is known before pixels are read is in the plan; reading then goes tile by tile, in
order, with a few of them in memory at a time.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import InputError, Problem, SettingError
from histoeval.runtime.threads import WORKERS, in_order
from histoeval.slides.slide import DamagedRegion, Pixels, Slide
from histoeval.slides.tissue import BLACK, Tissue

TOLERANCE = 0.02  # resolutions that differ by less count as equal: resampling would only blur
MAX_UPSCALING = 1.25  # more upscaling would show detail that was never scanned


@dataclass(frozen=True)
class Magnification:
    """A level, and how many of its pixels along x and y make up one pixel of a tile."""

    level: int
    across: float
    down: float

    def read(self, slide: Slide, x: float, y: float, width: int, height: int) -> Pixels:
        """An image of this size; x and y of its corner are in pixels of the level."""
        right, bottom = x + width * self.across, y + height * self.down
        left, top = int(np.floor(x)), int(np.floor(y))
        wide, high = int(np.ceil(right)) - left, int(np.ceil(bottom)) - top
        pixels = slide.region(self.level, left, top, wide, high)
        if pixels.shape[:2] == (height, width):
            return pixels
        picture = Image.fromarray(pixels)
        if self.across == self.down == int(self.across):
            return np.asarray(picture.reduce(int(self.across)))
        box = (x - left, y - top, right - left, bottom - top)
        return np.asarray(picture.resize((width, height), Image.Resampling.BILINEAR, box))


AS_STORED = Magnification(0, 1.0, 1.0)  # the pixels of the finest level, unscaled


def choose_magnification(slide: Slide, mpp: float | None) -> Magnification:
    """The coarsest level that is fine enough for `mpp` microns per pixel; None: as stored."""
    if mpp is None:
        return AS_STORED
    resolution = slide.resolution
    if resolution is None:
        raise InputError(
            f"{slide.path} does not state its microns per pixel, and they are not guessed; give "
            "them (--mpp 0.25), or cut tiles from the pixels as they are (--at stored)"
        )
    if max(resolution.x, resolution.y) > mpp * MAX_UPSCALING:
        raise InputError(
            f"{slide.path} has {resolution.mean:.4g} microns per pixel at its finest; tiles of "
            f"{mpp:g} would have to be upscaled. Ask for coarser ones (--at {resolution.mean:.2g})"
        )
    reach = mpp * (1 + TOLERANCE) / max(resolution.x, resolution.y)
    fine = [n for n, level in enumerate(slide.levels) if level.downsample <= max(reach, 1.0)]
    number = fine[-1]
    downsample = slide.levels[number].downsample
    factors = []
    for microns in (resolution.x, resolution.y):
        factor = mpp / (microns * downsample)
        whole = float(max(1, round(factor)))
        factors.append(whole if abs(factor / whole - 1) <= TOLERANCE else factor)
    return Magnification(number, *factors)


SIZE = 512
MPP = 0.5  # 20x, as PathGLS has it
MIN_TISSUE = 0.25


@dataclass(frozen=True)
class TileRequest:
    """The tiles to cut; `mpp=None` means the pixels of the finest level as stored."""

    size: int = SIZE
    mpp: float | None = MPP
    tissue: float = MIN_TISSUE
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 16 <= self.size <= 8192:
            raise SettingError(f"tiles of {self.size} px cannot be cut; take 16 to 8192")
        if not 0 <= self.tissue <= 1:
            raise SettingError(f"the share of tissue must be between 0 and 1, not {self.tissue:g}")
        if self.sample is not None and self.sample < 1:
            raise SettingError(f"a sample needs at least 1 tile, not {self.sample}")


@dataclass(frozen=True, slots=True)
class TilePlace:
    """A tile's position in pixels of level 0, and its shares of tissue and inside the slide."""

    row: int
    column: int
    x: int
    y: int
    width: int
    height: int
    tissue: float
    inside: float

    @property
    def id(self) -> str:
        return f"r{self.row:04}_c{self.column:04}"


@dataclass(frozen=True)
class TilePlan:
    request: TileRequest
    magnification: Magnification
    mpp: float | None
    places: tuple[TilePlace, ...]
    rows: int
    columns: int
    with_tissue: int
    notes: tuple[str, ...]


class Tile(NamedTuple):
    """A place with its pixels, or with the reason why it has none."""

    place: TilePlace
    pixels: Pixels | None
    problem: Problem | None = None


class _Axis(NamedTuple):
    extent: int
    step: float

    @property
    def tiles(self) -> int:
        """Tiles of which at least half lies on the slide, and at least one."""
        return max(1, math.floor(self.extent / self.step + 0.5))

    @property
    def remainder(self) -> int:
        return max(0, self.extent - math.ceil(self.tiles * self.step))

    def inside(self, number: int) -> float:
        return min(1.0, (self.extent - number * self.step) / self.step)


def plan_tiles(slide: Slide, tissue: Tissue, request: TileRequest) -> TilePlan:
    """The tiles of the grid that have enough tissue, or a sample of them.

    Raises `InputError` if the resolution is missing or too coarse, or if no tile is left.
    """
    chosen = choose_magnification(slide, request.mpp)
    scale = slide.levels[chosen.level].downsample
    across = _Axis(slide.width, request.size * chosen.across * scale)
    down = _Axis(slide.height, request.size * chosen.down * scale)
    if not tissue.mask.any():
        raise InputError(f"{slide.path}: no tissue was found; {tissue.why_empty()}")
    places = list(_places(across, down, tissue, request.tissue))
    if not places:
        raise InputError(
            f"{slide.path}: {tissue.share:.1%} of it is tissue, but no tile of "
            f"{request.size} px has a share of {request.tissue:g}; ask for less (--tissue)"
        )
    sampled = places
    if request.sample is not None:
        sampled = spread_sample(places, request.sample, request.seed)
    shrink = scale * math.sqrt(chosen.across * chosen.down)
    return TilePlan(
        request=request,
        magnification=chosen,
        mpp=None if slide.resolution is None else round(slide.resolution.mean * shrink, 6),
        places=tuple(sampled),
        rows=down.tiles,
        columns=across.tiles,
        with_tissue=len(places),
        notes=tuple(_notes(across, down, tissue)),
    )


def read_tiles(
    slide: Slide, plan: TilePlan, workers: int = WORKERS, places: Sequence[TilePlace] | None = None
) -> Iterator[Tile]:
    requested = plan.places if places is None else places
    return in_order(partial(read_tile, slide, plan), requested, workers)


def read_tile(slide: Slide, plan: TilePlan, place: TilePlace) -> Tile:
    """Read one tile; if it is unreadable or blank, it has a problem and no pixels."""
    chosen, size = plan.magnification, plan.request.size
    x, y = (place.column * size * chosen.across, place.row * size * chosen.down)
    try:
        pixels = chosen.read(slide, x, y, size, size)
    except DamagedRegion as error:
        return Tile(place, None, Problem("damaged_tile", str(error)))
    if pixels.max() < BLACK:
        return Tile(place, None, Problem("black_tile", "all of the tile is black"))
    first = pixels[0, 0]  # the first row mostly settles whether there is one colour only
    if (pixels[0] == first).all() and (pixels == first).all():
        return Tile(place, None, Problem("blank_tile", "all of the tile has one colour"))
    return Tile(place, pixels)


def _places(across: _Axis, down: _Axis, tissue: Tissue, least: float) -> Iterator[TilePlace]:
    """Row by row, the tiles with enough tissue on the part that lies inside.

    Unreadable parts may be tissue: their tiles are kept, so that each is reported as damaged.
    """
    is_possible = tissue.mask | tissue.damaged
    sums = np.pad(np.cumsum(np.cumsum(is_possible, axis=0), axis=1), ((1, 0), (1, 0)))
    tops, bottoms = _bounds(down, tissue.scale, tissue.mask.shape[0])
    lefts, rights = _bounds(across, tissue.scale, tissue.mask.shape[1])
    for row, (top, bottom) in enumerate(zip(tops, bottoms, strict=True)):
        counts = sums[bottom, rights] - sums[bottom, lefts] - sums[top, rights] + sums[top, lefts]
        shares = counts / ((bottom - top) * (rights - lefts))
        for column in np.flatnonzero((counts > 0) & (shares >= least)):
            yield TilePlace(
                row=row,
                column=int(column),
                x=round(column * across.step),
                y=round(row * down.step),
                width=round(across.step),
                height=round(down.step),
                tissue=round(float(shares[column]), 4),
                inside=round(across.inside(int(column)) * down.inside(row), 4),
            )


def _bounds(axis: _Axis, scale: float, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and last pixel of the mask for each tile; at least one."""
    edges = np.arange(axis.tiles + 1) * axis.step / scale
    starts = np.minimum(np.rint(edges[:-1]).astype(np.int64), length - 1)
    ends = np.clip(np.rint(edges[1:]).astype(np.int64), starts + 1, length)
    return starts, ends


def _notes(across: _Axis, down: _Axis, tissue: Tissue) -> Iterator[str]:
    if across.remainder or down.remainder:
        yield (
            f"at the edges less than half a tile was skipped: {across.remainder} px on the right, "
            f"{down.remainder} px at the bottom"
        )
    if tissue.damage:
        yield (
            f"{tissue.damaged.mean():.1%} of the overview cannot be read and counts as "
            f"tissue: {tissue.damage[0]}"
        )
    if (ink := float(tissue.ink.mean())) > 0.001:
        yield f"pen ink was excluded, {ink:.1%} of the slide"


def spread_sample(places: Sequence[TilePlace], count: int, seed: int) -> list[TilePlace]:
    """A stratified random sample of the places, in the order given.

    The places are sorted along a Hilbert curve, where neighbours on the curve are neighbours on the
    slide; the curve is cut into `count` equal parts, and one place is drawn from each.
    """
    if count >= len(places):
        return list(places)
    longest = max(max(tile.row, tile.column) for tile in places) + 1
    side = 1 << (longest - 1).bit_length()  # the smallest power of two that the grid fits into
    along = sorted(range(len(places)), key=lambda n: _along_hilbert(places[n], side))
    draw = Random(seed)
    ends = [part * len(along) // count for part in range(count + 1)]
    chosen = (along[draw.randrange(*part)] for part in pairwise(ends))
    return [places[number] for number in sorted(chosen)]


def _along_hilbert(tile: TilePlace, side: int) -> int:
    x, y, distance = tile.column, tile.row, 0
    step = side // 2
    while step:
        right, down = int(bool(x & step)), int(bool(y & step))
        distance += step * step * ((3 * right) ^ down)
        if not down:
            if right:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        step //= 2
    return distance
