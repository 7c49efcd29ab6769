"""Where the tissue is, in spite of pen marks, bubbles, pale stain and fat.

Tissue is what is stained: it takes more of one colour from the light than of another. Glass,
shadows and the rims of bubbles take all colours alike. Ink takes a mixture that no stain of
tissue does. Nothing is compared with the darkest tissue of the slide, so that pale tissue counts
beside dark tissue. Made for haematoxylin and eosin, and for immunohistochemistry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from histoeval.runtime.threads import WORKERS
from histoeval.slides.overview import make_overview
from histoeval.slides.slide import Pixels, Slide

Mask = NDArray[np.bool_]
Density = NDArray[np.float32]

MICRONS = 8.0
"""Length of a pixel of the mask, where the slide's resolution is known."""

PIXELS = 1024
"""Pixels of the mask along the longer side where it is not."""

MOST_PIXELS = 5_000_000
"""Of a mask, or about twice as many; that of a very large slide is coarser instead."""

STAIN = 0.04
"""Difference in optical density between two colours from which on something is stained."""

INK = 1.0
"""Optical density of all colours together from which on something can be ink."""

MOST_INK = 0.4
"""Share of a picture beyond which it is not marked with ink, but stained or lit in that colour."""

SMOOTH = 0.08
"""By how much the density of ink varies from pixel to pixel, as a share of itself."""

BLACK = 16
"""Brightness below which all colours are nothing but black: never scanned, or blocked."""

GAP, STRAND, SPECK, HOLE = 6, 2, 60, 400
"""Half of the widest gap that is closed (a fat cell), half of the thinnest strand that is kept,
the smallest piece that is kept and the largest hole that is filled, in pixels of the mask."""


@dataclass(frozen=True, eq=False)
class Tissue:
    """A mask over a slide, and what else was seen.

    `scale` is how many pixels of level 0 go into one of the mask, `white` the colour of the glass,
    `damaged` what could not be read and `damage` why.
    """

    mask: Mask
    ink: Mask
    black: Mask
    scale: float
    white: tuple[float, float, float]
    damaged: Mask
    damage: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """Of the slide that is tissue."""
        return float(self.mask.mean())

    def why_empty(self) -> str:
        """What there is instead of tissue, for people."""
        if self.damage:
            return f"parts of it cannot be read ({self.damage[0]})"
        if (black := float(self.black.mean())) > 0.5:
            return f"{black:.0%} of it is black"
        if (ink := float(self.ink.mean())) > 0.01:
            return f"there is pen ink ({ink:.0%}) and otherwise nothing stained"
        return "nothing in it is stained"


def find_tissue(slide: Slide, workers: int = WORKERS) -> Tissue:
    """The tissue of a slide, from an overview of it."""
    overview = make_overview(slide, _scale(slide), workers)
    white = white_of(overview.pixels)
    density = optical_density(overview.pixels, white)
    ink, black = find_ink(density), find_black(overview.pixels)
    mask = tissue_mask(density, ink | black)
    return Tissue(mask, ink, black, overview.scale, white, overview.damaged, overview.damage)


def tissue_mask(density: Density, other: Mask) -> Mask:
    """What is stained and not something other: gaps of fat closed, specks and rims left out."""
    smooth = ndimage.uniform_filter(density, (1, 3, 3), mode="nearest")
    stained = (smooth.max(axis=0) - smooth.min(axis=0) > STAIN) & ~other
    whole = _shrunk(_grown(stained, GAP), GAP)
    firm = _grown(_shrunk(whole, STRAND), STRAND)
    filled = ~_without_small(~_without_small(firm, SPECK), HOLE)
    mask: Mask = filled & ~other
    return mask


def find_ink(density: Density) -> Mask:
    """Marks of blue, green, red and black pens, with their blurred edges."""
    total = density.sum(axis=0)
    red, green, blue = density / np.maximum(total, 1e-3)
    hued = ((blue < 0.13) & (red > 0.42)) | ((green < 0.27) & (red > 0.2))
    scarlet = (red < 0.1) & (blue > 0.42)
    grey = (density.min(axis=0) > 1.2) & (np.ptp(density, axis=0) < 0.25 * total / 3)
    strong = (hued & (total > INK)) | (scarlet & (red < 0.08) & (total > 2.5 * INK)) | grey
    core: Mask = _grown(_shrunk(strong, STRAND) & _is_smooth(total), STRAND) & strong
    if not core.any():
        return core
    faint = strong | ((hued | scarlet) & (total > 3 * STAIN))
    spread: Mask = ndimage.binary_propagation(core, np.ones((3, 3), bool), faint)
    ink = _grown(spread, STRAND)
    return ink if ink.mean() <= MOST_INK else np.zeros_like(ink)


def _is_smooth(total: Density) -> Mask:
    """Where there is no texture: ink has none, tissue of the same colour (Giemsa, say) has."""
    mean = ndimage.uniform_filter(total, 2 * STRAND + 1, mode="nearest")
    square = ndimage.uniform_filter(total * total, 2 * STRAND + 1, mode="nearest")
    smooth: Mask = square - mean * mean < (SMOOTH * mean) ** 2
    return smooth


def find_black(pixels: Pixels) -> Mask:
    """Where there is no light at all."""
    dark: Mask = _brightest(pixels) < BLACK
    return dark


def optical_density(pixels: Pixels, white: tuple[float, float, float]) -> Density:
    """How much of each colour is taken from the light of bare glass, as a natural logarithm.

    The colours come first, then rows and columns.
    """
    levels = np.arange(256, dtype=np.float32) + 1
    density = [
        np.maximum(np.log((light + 1) / levels), 0).astype(np.float32)[pixels[:, :, colour]]
        for colour, light in enumerate(white)
    ]
    return np.stack(density)


def _brightest(pixels: Pixels) -> NDArray[np.uint8]:
    """The largest of the colours; numpy's own maximum is slow along so short an axis."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    brightest: NDArray[np.uint8] = np.maximum(np.maximum(red, green), blue)
    return brightest


def _darkest(pixels: Pixels) -> NDArray[np.uint8]:
    red, green, blue = np.moveaxis(pixels, 2, 0)
    darkest: NDArray[np.uint8] = np.minimum(np.minimum(red, green), blue)
    return darkest


def white_of(pixels: Pixels) -> tuple[float, float, float]:
    """The colour of bare glass: the middle one of what is bright and nearly grey.

    White of exactly 255 is what scanners fill unscanned parts with, and counts only where there
    is nothing else. Pictures that are all tissue have no glass, and get white.
    """
    low, high = _darkest(pixels), _brightest(pixels)
    bright = (low >= 200) & (high - low <= 20)
    glass = bright & (low < 255)
    if glass.sum() < 0.01 * glass.size:
        return 255.0, 255.0, 255.0
    red, green, blue = np.median(pixels[glass], axis=0)
    return float(red), float(green), float(blue)


def _scale(slide: Slide) -> float:
    """How coarse an overview is looked at."""
    longer, shorter = max(slide.width, slide.height), min(slide.width, slide.height)
    if slide.resolution is not None:
        wanted = MICRONS / slide.resolution.mean
    else:
        wanted = max(longer / PIXELS, min(16.0, shorter / 64))
    least = (slide.width * slide.height / MOST_PIXELS) ** 0.5
    return float(max(1.0, least, min(wanted, shorter / 16)))


def _grown(mask: Mask, by: int) -> Mask:
    grown: Mask = ndimage.maximum_filter(mask, 2 * by + 1, mode="constant", cval=0)
    return grown


def _shrunk(mask: Mask, by: int) -> Mask:
    """Tissue is thought to go on beyond the edge of the picture."""
    shrunk: Mask = ndimage.minimum_filter(mask, 2 * by + 1, mode="nearest")
    return shrunk


def _without_small(mask: Mask, least: int) -> Mask:
    """Only the pieces of at least so many pixels; those at the edge may go on beyond it."""
    labels, count = ndimage.label(mask)
    if not count:
        return mask
    sizes = np.bincount(labels.ravel())
    keep = sizes >= min(least, mask.size // 16)
    keep[0] = False
    kept: Mask = keep[labels]
    return kept
