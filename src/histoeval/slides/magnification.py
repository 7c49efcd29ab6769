"""Which level tiles are read from, and by how much it is downscaled: by microns per pixel."""

from dataclasses import dataclass

import numpy as np
from PIL import Image

from histoeval.errors import InputError
from histoeval.slides.slide import Pixels, Slide

TOLERANCE = 0.02
"""Resolutions that differ by less count as equal: resampling would only blur."""

MAX_UPSCALING = 1.25
"""More upscaling would show detail that was never scanned."""


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


AS_STORED = Magnification(0, 1.0, 1.0)
"""The pixels of the finest level, unscaled."""


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
    across, down = (_snapped(mpp / (each * downsample)) for each in (resolution.x, resolution.y))
    return Magnification(number, across, down)


def _snapped(factor: float) -> float:
    """The nearest whole number if it is close enough."""
    whole = max(1, round(factor))
    return float(whole) if abs(factor / whole - 1) <= TOLERANCE else factor
