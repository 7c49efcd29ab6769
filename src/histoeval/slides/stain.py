"""Stains of a picture taken apart by the method of Macenko, and made stronger or weaker.

Light is taken by stains: the optical density of a pixel, -ln(I / white), is a sum of the stains'
directions, each times how much of it there is. Macenko and others (2009) find the two directions
in the pixels themselves: they lie in the plane that explains most of the density, near its two
outermost angles. What the plane does not explain is kept here, so that a picture whose stains are
multiplied by 1 is the same picture, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import InputError, SettingError
from histoeval.slides.slide import Pixels
from histoeval.slides.tissue import white_of

Floats = NDArray[np.float64]

White = tuple[float, float, float]
WHITE: White = (255.0, 255.0, 255.0)
"""Light that nothing took from; for slides, better the colour of their glass."""

BETA = 0.15
"""Optical density that a pixel must have, as the mean of its colours, to be looked at.

Asked of every colour by itself, as widespread code does, it would leave out what is eosin alone,
which takes hardly any red, and the second direction would be that of a mixture."""

ALPHA = 1.0
"""Percentile of the angles that is taken for the outermost one, from either end."""

FEWEST = 100
"""Stained pixels below which two directions cannot be told."""

NARROWEST = 5.0
"""Degrees between two directions below which there is only one stain."""

FACTORS = (0.7, 1.3)
"""From what to what PathGLS makes the stains weaker or stronger."""


@dataclass(frozen=True, eq=False)
class Stains:
    """Two directions of length 1 in red, green and blue, haematoxylin (or the like) first."""

    vectors: Floats
    white: White = WHITE


class Factors(NamedTuple):
    """What the amounts of the two stains are multiplied by."""

    first: float
    second: float


def density_of(pixels: Pixels, white: White = WHITE) -> Floats:
    """Optical density, with black taken as the darkest that eight bits can tell from it."""
    light: Floats = np.maximum(pixels.reshape(-1, 3), 0.5) / np.array(white)
    return -np.log(light)


def find_stains(
    pixels: Pixels, *, white: White = WHITE, beta: float = BETA, alpha: float = ALPHA
) -> Stains:
    """The two stains of a picture, or of pixels of many pictures of one slide put together.

    Raises `InputError` where there is too little stain, or only one.
    """
    density = density_of(pixels, white)
    stained = density[density.mean(axis=1) > beta]
    if len(stained) < FEWEST:
        raise InputError(
            f"too little stain to tell two apart: {len(stained)} of {len(density)} pixels are "
            f"stained, and {FEWEST} are needed"
        )
    _, directions = np.linalg.eigh(np.cov(stained.T))
    plane = _facing(directions[:, 1:], stained.mean(axis=0))
    angles = np.arctan2(stained @ plane[:, 1], stained @ plane[:, 0])
    low, high = np.percentile(angles, [alpha, 100 - alpha])
    ends = [plane @ [np.cos(angle), np.sin(angle)] for angle in (low, high)]
    if (apart := np.degrees(high - low)) < NARROWEST:
        raise InputError(f"there is only one stain: its colours lie within {apart:.1f} degrees")
    return Stains(np.array(sorted(ends, key=lambda end: -end[0])), white)


def _facing(plane: Floats, mean: Floats) -> Floats:
    """Two axes of the same plane, the first of them towards the mean, so that no angle is near 180.

    Haematoxylin and eosin may differ more than light and dark do, and the first axis of the
    covariance then lies across them.
    """
    first = plane @ (plane.T @ mean)
    first /= np.linalg.norm(first)
    second = np.cross(first, np.cross(plane[:, 0], plane[:, 1]))
    return np.stack([first, second], axis=1)


def amounts_of(pixels: Pixels, stains: Stains) -> Floats:
    """How much of each stain each pixel has, in the shape of the picture, by least squares."""
    density = density_of(pixels, stains.white)
    amounts = density @ np.linalg.pinv(stains.vectors)
    return np.asarray(amounts.reshape(*pixels.shape[:-1], 2))


def restain(pixels: Pixels, stains: Stains, factors: Factors) -> Pixels:
    """The picture with its stains multiplied; what is no stain stays as it is."""
    if min(factors) < 0:
        raise SettingError(f"a stain cannot be multiplied by {min(factors):g}")
    amounts = np.maximum(amounts_of(pixels, stains).reshape(-1, 2), 0)
    added = amounts * (np.array(factors) - 1) @ stains.vectors
    light = np.maximum(pixels.reshape(-1, 3), 0.5) * np.exp(-added)
    changed = np.where(added == 0, pixels.reshape(-1, 3), np.rint(light))
    return np.clip(changed, 0, 255).astype(np.uint8).reshape(pixels.shape)


def draw_factors(seed: int, key: str, between: tuple[float, float] = FACTORS) -> Factors:
    """Factors for one picture: the same for the same seed and key, whatever the order of work."""
    low, high = between
    if not 0 < low <= high:
        raise SettingError(f"factors cannot lie between {low:g} and {high:g}")
    digest = hashlib.sha256(f"{seed}\0{key}".encode()).digest()
    shares = (int.from_bytes(digest[n : n + 6], "big") / 2**48 for n in (0, 6))
    return Factors(*(low + share * (high - low) for share in shares))


def perturb(pixels: Pixels, seed: int, key: str, stains: Stains | None = None) -> Pixels:
    """A picture stained as another laboratory might have, by a seed.

    Give the stains of the slide where there are more tiles of it; else they are the picture's own.
    """
    known = find_stains(pixels, white=white_of(pixels)) if stains is None else stains
    return restain(pixels, known, draw_factors(seed, key))


def pooled(pictures: Iterable[Pixels], every: int = 16) -> Pixels:
    """Every so many of the pixels of tiles, to find the stains of their slide in.

    A tile may hold little of one stain; what a slide holds tells more::

        stains = find_stains(pooled(tiles), white=tissue.white)
    """
    return np.concatenate([picture.reshape(-1, 3)[::every] for picture in pictures])
