"""From which level tiles are read, and how much it is reduced: by microns, not by level number."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

from histoeval.errors import InputError
from histoeval.slides.slide import Pixels, Slide

TOLERANCE = 0.02
"""Resolutions that differ by less are taken for the same: resampling would only blur."""

ENLARGED = 1.25
"""By how much pixels may be enlarged; more would show detail that was never scanned."""


@dataclass(frozen=True)
class Magnification:
    """A level, and how many of its pixels along x and y go into one of a tile."""

    level: int
    across: float
    down: float

    def read(self, slide: Slide, x: float, y: float, width: int, height: int) -> Pixels:
        """A picture of this size whose corner lies at a place in pixels of the level."""
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


AS_STORED = Magnification(0, 1.0, 1.0)
"""The pixels of the finest level as they are."""


def choose_magnification(slide: Slide, mpp: float | None) -> Magnification:
    """The coarsest level that is fine enough for so many microns per pixel; none: as stored."""
    if mpp is None:
        return AS_STORED
    resolution = slide.resolution
    if resolution is None:
        raise InputError(
            f"{slide.path} does not say its microns per pixel, and they are not guessed; give "
            "them (--mpp 0.25), or have tiles cut from the pixels as they are (--at stored)"
        )
    if max(resolution.x, resolution.y) > mpp * ENLARGED:
        raise InputError(
            f"{slide.path} has {resolution.mean:.4g} microns per pixel at its finest; tiles of "
            f"{mpp:g} would have to be enlarged. Ask for coarser ones (--at {resolution.mean:.2g})"
        )
    reach = mpp * (1 + TOLERANCE) / max(resolution.x, resolution.y)
    fine = [n for n, level in enumerate(slide.levels) if level.downsample <= max(reach, 1.0)]
    number = fine[-1]
    downsample = slide.levels[number].downsample
    across, down = (_snapped(mpp / (each * downsample)) for each in (resolution.x, resolution.y))
    return Magnification(number, across, down)


def _snapped(factor: float) -> float:
    """A whole number where it is nearly one."""
    whole = max(1, round(factor))
    return float(whole) if abs(factor / whole - 1) <= TOLERANCE else factor
