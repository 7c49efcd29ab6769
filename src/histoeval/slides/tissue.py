"""Tissue detection, robust to pen marks, bubbles, pale stain and fat; and the facts of a slide.

Tissue is stained: it absorbs more of one colour than of another. Glass, shadows and the rims of
bubbles absorb all colours alike. Ink absorbs a mixture that no tissue stain does. Nothing is
relative to the darkest tissue of the slide, so pale tissue is found beside dark tissue. Made for
haematoxylin and eosin, and for immunohistochemistry.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from histoeval.runtime.threads import WORKERS
from histoeval.slides.overview import make_overview
from histoeval.slides.slide import Pixels, Slide

Mask = NDArray[np.bool_]
Density = NDArray[np.float32]
MICRONS = 8.0  # size of a pixel of the mask if the slide's resolution is known
PIXELS = 1024  # pixels of the mask along the longer side if it is not
MAX_PIXELS = 5_000_000  # of a mask, approximately; that of a very large slide is coarser instead
STAIN = 0.04  # difference in optical density between two colours above which something is stained
INK = 1.0  # summed optical density of all colours above which something can be ink
MAX_INK = 0.4  # share of an image above which the colour is not ink, but its stain or illumination
SMOOTH = 0.08  # relative variation of the density of ink from pixel to pixel
BLACK = 16  # brightness below which a pixel is black: never scanned, or blocked

# in pixels of the mask: half of the widest gap that is closed (a fat cell), half of the thinnest
# strand and the smallest piece that are left, and the largest hole that is filled
GAP, STRAND, SPECK, HOLE = 6, 2, 60, 400


@dataclass(frozen=True, eq=False)
class Tissue:
    """A tissue mask of a slide, and masks of what else was found.

    `scale` is the number of level 0 pixels per pixel of the mask, `white` the colour of the glass,
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
        return float(self.mask.mean())

    def why_empty(self) -> str:
        if self.damage:
            return f"parts of it cannot be read ({self.damage[0]})"
        if (black := float(self.black.mean())) > 0.5:
            return f"{black:.0%} of it is black"
        if (ink := float(self.ink.mean())) > 0.01:
            return f"there is pen ink ({ink:.0%}) and otherwise nothing stained"
        return "nothing in it is stained"


def find_tissue(slide: Slide, workers: int = WORKERS) -> Tissue:
    longer, shorter = max(slide.width, slide.height), min(slide.width, slide.height)
    if slide.resolution is not None:
        preferred = MICRONS / slide.resolution.mean
    else:
        preferred = max(longer / PIXELS, min(16.0, shorter / 64))
    least = (slide.width * slide.height / MAX_PIXELS) ** 0.5
    scale = float(max(1.0, least, min(preferred, shorter / 16)))
    overview = make_overview(slide, scale, workers)
    white = white_of(overview.pixels)
    density = optical_density(overview.pixels, white)
    ink, black = find_ink(density), _extremes(overview.pixels)[1] < BLACK
    mask = tissue_mask(density, ink | black)
    return Tissue(mask, ink, black, overview.scale, white, overview.damaged, overview.damage)


def tissue_mask(density: Density, excluded: Mask) -> Mask:
    """Stained and not in `excluded`, with gaps of fat closed and specks and rims removed."""
    smooth = ndimage.uniform_filter(density, (1, 3, 3), mode="nearest")
    stained = (smooth.max(axis=0) - smooth.min(axis=0) > STAIN) & ~excluded
    closed = _shrunk(_grown(stained, GAP), GAP)
    firm = _grown(_shrunk(closed, STRAND), STRAND)
    return ~_without_small(~_without_small(firm, SPECK), HOLE) & ~excluded


def find_ink(density: Density) -> Mask:
    """Marks of blue, green, red and black pens, with their blurred edges."""
    total = density.sum(axis=0)
    red, green, blue = density / np.maximum(total, 1e-3)
    hued = ((blue < 0.13) & (red > 0.42)) | ((green < 0.27) & (red > 0.2))
    scarlet = (red < 0.1) & (blue > 0.42)
    grey = (density.min(axis=0) > 1.2) & (np.ptp(density, axis=0) < 0.25 * total / 3)
    strong = (hued & (total > INK)) | (scarlet & (red < 0.08) & (total > 2.5 * INK)) | grey
    # ink has no texture; tissue of the same colour (Giemsa) has
    mean = ndimage.uniform_filter(total, 2 * STRAND + 1, mode="nearest")
    square = ndimage.uniform_filter(total * total, 2 * STRAND + 1, mode="nearest")
    is_smooth = square - mean * mean < (SMOOTH * mean) ** 2
    core: Mask = _grown(_shrunk(strong, STRAND) & is_smooth, STRAND) & strong
    if not core.any():
        return core
    faint = strong | ((hued | scarlet) & (total > 3 * STAIN))
    spread: Mask = ndimage.binary_propagation(core, np.ones((3, 3), bool), faint)
    ink = _grown(spread, STRAND)
    return ink if ink.mean() <= MAX_INK else np.zeros_like(ink)


def optical_density(pixels: Pixels, white: tuple[float, float, float]) -> Density:
    """Optical density relative to bare glass, natural logarithm; colours, rows, columns."""
    levels = np.arange(256, dtype=np.float32) + 1
    density = [
        np.maximum(np.log((light + 1) / levels), 0).astype(np.float32)[pixels[:, :, colour]]
        for colour, light in enumerate(white)
    ]
    return np.stack(density)


def _extremes(pixels: Pixels) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """The smallest and the largest colour; numpy's min and max are slow along so short an axis."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    return np.minimum(np.minimum(red, green), blue), np.maximum(np.maximum(red, green), blue)


def white_of(pixels: Pixels) -> tuple[float, float, float]:
    """The colour of bare glass: the median of what is bright and nearly grey.

    Scanners fill unscanned parts with exactly 255, which is therefore ignored. Images that are all
    tissue have no glass, and get white.
    """
    low, high = _extremes(pixels)
    bright = (low >= 200) & (high - low <= 20)
    glass = bright & (low < 255)
    if glass.sum() < 0.01 * glass.size:
        return 255.0, 255.0, 255.0
    red, green, blue = np.median(pixels[glass], axis=0)
    return float(red), float(green), float(blue)


def _grown(mask: Mask, by: int) -> Mask:
    return np.asarray(ndimage.maximum_filter(mask, 2 * by + 1, mode="constant", cval=0))


def _shrunk(mask: Mask, by: int) -> Mask:
    """Tissue at the edge is assumed to continue beyond it."""
    return np.asarray(ndimage.minimum_filter(mask, 2 * by + 1, mode="nearest"))


def _without_small(mask: Mask, least: int) -> Mask:
    labels, count = ndimage.label(mask)
    if not count:
        return mask
    sizes = np.bincount(labels.ravel())
    keep: Mask = sizes >= min(least, mask.size // 16)
    keep[0] = False
    return np.asarray(keep[labels])


def describe(slide: Slide, tissue: Tissue) -> dict[str, Any]:
    """The facts of a slide for JSON: size, levels, resolution and tissue."""
    resolution = slide.resolution
    area = None
    if resolution is not None:
        area = tissue.share * slide.width * resolution.x * slide.height * resolution.y / 1e6
    notes = [*slide.notes]
    if resolution is None:
        notes.append("the file does not state its microns per pixel; give them with --mpp")
    if tissue.damage:
        notes.append(f"{tissue.damaged.mean():.1%} cannot be read: {tissue.damage[0]}")
    if not tissue.mask.any():
        notes.append(f"no tissue was found; {tissue.why_empty()}")
    return {
        "file": slide.path.name,
        "format": slide.format,
        "width": slide.width,
        "height": slide.height,
        "mpp": None if resolution is None else [resolution.x, resolution.y],
        "mpp_source": "missing" if resolution is None else resolution.source,
        "levels": [
            {
                "width": level.width,
                "height": level.height,
                "downsample": round(level.downsample, 4),
                "mpp": None if resolution is None else round(resolution.mean * level.downsample, 4),
            }
            for level in slide.levels
        ],
        "tissue": round(tissue.share, 4),
        "tissue_mm2": None if area is None else round(area, 3),
        "ink": round(float(tissue.ink.mean()), 4),
        "black": round(float(tissue.black.mean()), 4),
        "notes": notes,
    }
