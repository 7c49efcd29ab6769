"""Tiles of a slide: a grid of a physical size, those of it with tissue, all or a sample; read.

Everything that can be said before a pixel of a tile is read stands in the plan; reading then goes
tile by tile, in order, with a few of them in memory at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import InputError, Problem, SettingError
from histoeval.runtime.threads import WORKERS, in_order
from histoeval.slides.magnification import Magnification, choose_magnification
from histoeval.slides.sampling import spread_sample
from histoeval.slides.slide import DamagedRegion, Pixels, Slide
from histoeval.slides.tissue import BLACK, Tissue

SIZE = 512
MPP = 0.5
"""20x, as PathGLS has it."""

LEAST_TISSUE = 0.25


@dataclass(frozen=True)
class TileRequest:
    """What tiles are wanted; `mpp` left out means the pixels of the finest level as stored."""

    size: int = SIZE
    mpp: float | None = MPP
    tissue: float = LEAST_TISSUE
    sample: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 16 <= self.size <= 8192:
            raise SettingError(f"tiles of {self.size} px cannot be cut; take 16 to 8192")
        if not 0 <= self.tissue <= 1:
            raise SettingError(f"a share of tissue lies between 0 and 1, not at {self.tissue:g}")
        if self.sample is not None and self.sample < 1:
            raise SettingError(f"a sample of {self.sample} tiles is none")


@dataclass(frozen=True, slots=True)
class TilePlace:
    """Where a tile lies, in pixels of level 0; what share of it is tissue, and lies inside."""

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
        """A name that sorts as the tiles lie."""
        return f"r{self.row:04}_c{self.column:04}"


@dataclass(frozen=True)
class TilePlan:
    """The tiles that will be read, and what was left out and why."""

    request: TileRequest
    magnification: Magnification
    mpp: float | None
    places: tuple[TilePlace, ...]
    rows: int
    columns: int
    with_tissue: int
    notes: tuple[str, ...]


class Tile(NamedTuple):
    """A place with its pixels, or with the reason why there are none."""

    place: TilePlace
    pixels: Pixels | None
    problem: Problem | None = None


class _Axis(NamedTuple):
    """The grid along one side, in pixels of level 0."""

    extent: int
    step: float
    tiles: int

    @property
    def left_out(self) -> int:
        """Pixels at the far edge that make less than half a tile."""
        return max(0, self.extent - math.ceil(self.tiles * self.step))

    def inside(self, number: int) -> float:
        """The share of a tile that lies on the slide."""
        return min(1.0, (self.extent - number * self.step) / self.step)


def plan_tiles(slide: Slide, tissue: Tissue, request: TileRequest) -> TilePlan:
    """The grid, less what has too little tissue, all of it or a sample.

    Raises `InputError` where the resolution is missing or too coarse, and where no tile is left.
    """
    chosen = choose_magnification(slide, request.mpp)
    scale = slide.levels[chosen.level].downsample
    across = _axis(slide.width, request.size * chosen.across * scale)
    down = _axis(slide.height, request.size * chosen.down * scale)
    if not tissue.mask.any():
        raise InputError(f"{slide.path}: no tissue was found; {tissue.why_empty()}")
    places = list(_places(across, down, tissue, request.tissue))
    if not places:
        raise InputError(
            f"{slide.path}: {tissue.share:.1%} of it is tissue, but no tile of "
            f"{request.size} px has a share of {request.tissue:g}; ask for less (--tissue)"
        )
    wanted = places
    if request.sample is not None:
        wanted = spread_sample(places, request.sample, request.seed)
    return TilePlan(
        request=request,
        magnification=chosen,
        mpp=_mpp(slide, chosen),
        places=tuple(wanted),
        rows=down.tiles,
        columns=across.tiles,
        with_tissue=len(places),
        notes=tuple(_notes(across, down, tissue)),
    )


def read_tiles(
    slide: Slide, plan: TilePlan, workers: int = WORKERS, places: Sequence[TilePlace] | None = None
) -> Iterator[Tile]:
    """The tiles of a plan, or some of them, in order."""
    wanted = plan.places if places is None else places
    return in_order(partial(read_tile, slide, plan), wanted, workers)


def read_tile(slide: Slide, plan: TilePlan, place: TilePlace) -> Tile:
    """One tile; where it cannot be read or shows nothing, it has a problem and no pixels."""
    chosen, size = plan.magnification, plan.request.size
    x, y = (place.column * size * chosen.across, place.row * size * chosen.down)
    try:
        pixels = chosen.read(slide, x, y, size, size)
    except DamagedRegion as error:
        return Tile(place, None, Problem("damaged_tile", str(error)))
    if pixels.max() < BLACK:
        return Tile(place, None, Problem("black_tile", "all of the tile is black"))
    if _is_blank(pixels):
        return Tile(place, None, Problem("blank_tile", "all of the tile has one colour"))
    return Tile(place, pixels)


def _is_blank(pixels: Pixels) -> bool:
    """Whether there is one colour only; mostly the first row tells, and the rest is spared."""
    first = pixels[0, 0]
    return bool((pixels[0] == first).all() and (pixels == first).all())


def _axis(extent: int, step: float) -> _Axis:
    """As many tiles as reach half-way or further onto the slide, and at least one."""
    return _Axis(extent, step, max(1, math.floor(extent / step + 0.5)))


def _places(across: _Axis, down: _Axis, tissue: Tissue, least: float) -> Iterator[TilePlace]:
    """Row by row, those with enough tissue on the part that lies inside.

    What could not be read may be tissue: its tiles are kept, so that each is told to be damaged.
    """
    shown = tissue.mask | tissue.damaged
    sums = np.pad(np.cumsum(np.cumsum(shown, axis=0), axis=1), ((1, 0), (1, 0)))
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
    """From which to which pixel of the mask each tile goes; at least one."""
    edges = np.arange(axis.tiles + 1) * axis.step / scale
    starts = np.minimum(np.rint(edges[:-1]).astype(np.int64), length - 1)
    ends = np.clip(np.rint(edges[1:]).astype(np.int64), starts + 1, length)
    return starts, ends


def _mpp(slide: Slide, chosen: Magnification) -> float | None:
    """What the tiles really have."""
    if slide.resolution is None:
        return None
    scale = slide.levels[chosen.level].downsample * math.sqrt(chosen.across * chosen.down)
    return round(slide.resolution.mean * scale, 6)


def _notes(across: _Axis, down: _Axis, tissue: Tissue) -> Iterator[str]:
    if across.left_out or down.left_out:
        yield (
            f"at the edges less than half a tile was left out: {across.left_out} px on the right, "
            f"{down.left_out} px at the bottom"
        )
    if tissue.damage:
        yield (
            f"{tissue.damaged.mean():.1%} of the overview cannot be read and is kept as if it were "
            f"tissue: {tissue.damage[0]}"
        )
    if (ink := float(tissue.ink.mean())) > 0.001:
        yield f"pen ink was left out, {ink:.1%} of the slide"
