"""Stain separation by Macenko's method, and stain augmentation.

Stains absorb light: the optical density of a pixel, -ln(I / white), is the sum of the stain
vectors, each times its concentration. Macenko et al. (2009) estimate the two vectors from the
pixels: they lie in the plane that explains most of the density, near its two extreme angles. The
residual outside of the plane is kept, so that factors of 1 give the same image, bit for bit.
"""

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
# the incident light; for slides the colour of their glass is better
WHITE: White = (255.0, 255.0, 255.0)

# Least optical density of a stained pixel, as the mean of its colours. Required of every colour
# by itself, as in widespread code, it would exclude pure eosin, which absorbs hardly any red.
BETA = 0.15

ALPHA = 1.0  # percentile of the angles that counts as the extreme one, from either end
MIN_STAINED = 100  # stained pixels needed to estimate two vectors
MIN_ANGLE = 5.0  # degrees between two vectors; below there is only one stain
FACTORS = (0.7, 1.3)  # the range of PathGLS's stain augmentation


@dataclass(frozen=True, eq=False)
class Stains:
    vectors: Floats
    white: White = WHITE


class Factors(NamedTuple):
    first: float
    second: float


def density_of(pixels: Pixels, white: White = WHITE) -> Floats:
    """Optical density; black counts as half of the darkest level of eight bits."""
    light: Floats = np.maximum(pixels.reshape(-1, 3), 0.5) / np.array(white)
    return -np.log(light)


def find_stains(
    pixels: Pixels, *, white: White = WHITE, beta: float = BETA, alpha: float = ALPHA
) -> Stains:
    """The two stains of an image, or of pooled pixels of several tiles of one slide.

    Raises `InputError` if there is too little stain, or only one.
    """
    density = density_of(pixels, white)
    stained = density[density.mean(axis=1) > beta]
    if len(stained) < MIN_STAINED:
        raise InputError(
            f"too little stain to separate two: {len(stained)} of {len(density)} pixels are "
            f"stained, and {MIN_STAINED} are needed"
        )
    _, directions = np.linalg.eigh(np.cov(stained.T))
    # Axes of the same plane, the first towards the mean, so that no angle is near 180: haematoxylin
    # and eosin may differ more than light and dark do, and the first axis of the covariance is then
    # orthogonal to the mean.
    plane = directions[:, 1:]
    first = plane @ (plane.T @ stained.mean(axis=0))
    first /= np.linalg.norm(first)
    second = np.cross(first, np.cross(plane[:, 0], plane[:, 1]))
    plane = np.stack([first, second], axis=1)
    angles = np.arctan2(stained @ plane[:, 1], stained @ plane[:, 0])
    low, high = np.percentile(angles, [alpha, 100 - alpha])
    ends = [plane @ [np.cos(radians), np.sin(radians)] for radians in (low, high)]
    if (angle := np.degrees(high - low)) < MIN_ANGLE:
        raise InputError(f"there is only one stain: its colours lie within {angle:.1f} degrees")
    return Stains(np.array(sorted(ends, key=lambda end: -end[0])), white)


def amounts_of(pixels: Pixels, stains: Stains) -> Floats:
    """The concentration of each stain in each pixel, by least squares, in the image's shape."""
    density = density_of(pixels, stains.white)
    amounts = density @ np.linalg.pinv(stains.vectors)
    return np.asarray(amounts.reshape(*pixels.shape[:-1], 2))


def restain(pixels: Pixels, stains: Stains, factors: Factors) -> Pixels:
    """The image with its stain concentrations multiplied; the residual is unchanged."""
    if min(factors) < 0:
        raise SettingError(f"a stain cannot be multiplied by {min(factors):g}")
    amounts = np.maximum(amounts_of(pixels, stains).reshape(-1, 2), 0)
    added = amounts * (np.array(factors) - 1) @ stains.vectors
    light = np.maximum(pixels.reshape(-1, 3), 0.5) * np.exp(-added)
    changed = np.where(added == 0, pixels.reshape(-1, 3), np.rint(light))
    return np.clip(changed, 0, 255).astype(np.uint8).reshape(pixels.shape)


def draw_factors(seed: int, key: str, between: tuple[float, float] = FACTORS) -> Factors:
    """Factors for one image: the same for the same seed and key, whatever the order of work."""
    low, high = between
    if not 0 < low <= high:
        raise SettingError(f"factors cannot be between {low:g} and {high:g}")
    digest = hashlib.sha256(f"{seed}\0{key}".encode()).digest()
    shares = (int.from_bytes(digest[n : n + 6], "big") / 2**48 for n in (0, 6))
    return Factors(*(low + share * (high - low) for share in shares))


def perturb(pixels: Pixels, seed: int, key: str, stains: Stains | None = None) -> Pixels:
    """The image as another laboratory might have stained it, by a seed.

    Pass the stains of the slide if there are more tiles of it; the default are the image's own.
    """
    own_stains = find_stains(pixels, white=white_of(pixels)) if stains is None else stains
    return restain(pixels, own_stains, draw_factors(seed, key))


def pooled(pictures: Iterable[Pixels], every: int = 16) -> Pixels:
    """Every n-th pixel of some tiles: one tile alone may contain little of a stain."""
    return np.concatenate([picture.reshape(-1, 3)[::every] for picture in pictures])
