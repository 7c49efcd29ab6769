"""Paint the pictures of this folder: tissue of the imagination, in haematoxylin and eosin.

Nothing here comes from a patient, and nothing here is tissue. The numbers of each recipe were
searched for with the shipped encoder in the loop (search.py), until it took the picture for the
organ that the picture is named after, and for a carcinoma of it; so these pictures show how
`histoeval trust` works, and say nothing about how well it does. Run it anywhere that has numpy and
pillow::

    python examples/trust/paint.py
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

SIDE = 480
HAEMATOXYLIN = np.array([0.650, 0.704, 0.286])
EOSIN = np.array([0.150, 0.960, 0.240])
Layer = NDArray[np.float64]

_Y, _X = np.mgrid[0:SIDE, 0:SIDE].astype(np.float64)


class Recipe(NamedTuple):
    """What a picture is made of; lengths in pixels, stains as optical densities."""

    seed: int
    eosin: float = 0.45
    haze: float = 0.08
    """Haematoxylin outside of nuclei."""
    mottle: float = 0.5
    """How uneven the eosin is."""
    fibres: float = 0.3
    fibre_length: float = 10.0
    cell: float = 26.0
    """From one cell to the next; cells lie side by side."""
    membrane: float = 0.2
    nucleus: float = 5.0
    dark: float = 0.7
    odd: float = 0.2
    """How much nuclei differ in size and shape."""
    clefts: float = 0.2
    """Share of the picture that is gaps between cells."""
    cleft_grain: float = 30.0
    loose: float = 0.0
    """Share of the picture that is fibres without cells."""
    lymphocytes: float = 40.0
    strength: float = 1.6
    blur: float = 0.7


class Canvas:
    """Two stains, laid on as optical densities."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.random = np.random.default_rng(recipe.seed)
        uneven = 0.5 * self.cloud(40) + 0.3 * self.cloud(12) + 0.2 * self.cloud(3)
        self.blue = recipe.haze * (0.5 + self.cloud(20))
        self.pink = recipe.eosin * (1 + 2 * recipe.mottle * (uneven - 0.5))

    def cloud(self, across: float, down: float | None = None) -> Layer:
        """Soft noise between 0 and 1, of about this grain in pixels."""
        grains = (SIDE / (down or across), SIDE / across)
        coarse = self.random.random([int(grain) + 2 for grain in grains])
        soft = Image.fromarray((255 * coarse).astype(np.uint8)).resize(
            (SIDE, SIDE), Image.Resampling.BICUBIC
        )
        return np.asarray(soft, np.float64) / 255

    def nucleus(self, x: float, y: float, size: float, dark: float, odd: float) -> None:
        """A soft ellipse, rounder or odder, paler or darker, with a rim."""
        wide, high = size * (1 + odd * self.random.standard_normal(2)).clip(0.5, 1.8)
        turn, weight = self.random.uniform(0, np.pi), 0.7 + 0.6 * self.random.random()
        reach = int(1.2 * max(wide, high)) + 1
        near = tuple(slice(max(0, int(at) - reach), max(0, int(at) + reach + 1)) for at in (y, x))
        dx, dy = _X[near] - x, _Y[near] - y
        u = (dx * np.cos(turn) + dy * np.sin(turn)) / wide
        v = (dy * np.cos(turn) - dx * np.sin(turn)) / high
        far = np.hypot(u, v)
        chromatin = 0.75 + 0.25 * self.random.random(far.shape) + 0.3 * (np.abs(far - 0.85) < 0.15)
        self.blue[near] += dark * weight * chromatin * np.clip((1.15 - far) / 0.3, 0, 1)

    def fibres(self) -> Layer:
        """Wavy strands that run together."""
        length = self.recipe.fibre_length
        strands = self.cloud(6 * length, max(2.0, length / 3))
        bend = (0.6 * SIDE / 12 * (self.cloud(150) - 0.5)).astype(int)
        return np.asarray(strands[(_Y.astype(int) + bend) % SIDE, _X.astype(int)])

    def sheet(self) -> None:
        """Cells side by side, broken by clefts and by loose fibres."""
        made = self.recipe
        step = max(8.0, made.cell)
        count = int(SIDE / step) + 3
        rows, columns = np.mgrid[0:count, 0:count].astype(np.float64)
        shift = self.random.uniform(-0.38, 0.38, (2, count, count))
        xs, ys = (columns - 1 + shift[0]) * step, (rows - 1 + shift[1]) * step
        near = self._nearest(xs, ys, step)
        edge = np.clip(1 - (near[1] - near[0]) / 3.0, 0, 1)
        gaps = _share(self.cloud(made.cleft_grain), made.clefts)
        loose = _share(self.cloud(90), made.loose)
        self.pink += made.membrane * edge * (1 - loose)
        self.pink += made.fibres * (self.fibres() - 0.5) * (0.3 + 0.7 * loose)
        self.pink *= 1 - 0.93 * gaps * (1 - loose)
        self.blue *= 1 - 0.8 * gaps
        for x, y in zip(xs.ravel(), ys.ravel(), strict=True):
            if 0 <= x < SIDE and 0 <= y < SIDE:
                place = int(y), int(x)
                if gaps[place] < 0.5 and self.random.random() > 0.75 * loose[place]:
                    self.nucleus(x, y, made.nucleus, made.dark, made.odd)

    def _nearest(self, xs: Layer, ys: Layer, step: float) -> Layer:
        """The distances to the nearest two of points that lie in a shaken grid."""
        count = len(xs)
        found = np.full((2, SIDE, SIDE), np.inf)
        row, column = (_Y / step + 1.5).astype(int), (_X / step + 1.5).astype(int)
        for down in (-1, 0, 1):
            for across in (-1, 0, 1):
                at = (row + down).clip(0, count - 1), (column + across).clip(0, count - 1)
                far = np.hypot(_X - xs[at], _Y - ys[at])
                found[1] = np.minimum(found[1], np.maximum(found[0], far))
                found[0] = np.minimum(found[0], far)
        return found

    def picture(self) -> Image.Image:
        """Light through both stains."""
        made = self.recipe
        self.sheet()
        for x, y in self.random.uniform(0, SIDE, (int(made.lymphocytes), 2)):
            self.nucleus(x, y, 3.4, 0.9, 0.1)
        blue, pink = np.clip(self.blue, 0, 1.6), np.clip(self.pink, 0, 1.4)
        density = blue[..., None] * HAEMATOXYLIN + pink[..., None] * EOSIN
        grain = 1 + 0.02 * self.random.standard_normal((SIDE, SIDE, 1))
        light = 243 * np.exp(-made.strength * density) * grain
        done = Image.fromarray(np.clip(light, 0, 255).astype(np.uint8))
        return done.filter(ImageFilter.GaussianBlur(made.blur))


def _share(noise: Layer, share: float) -> Layer:
    """1 in the lowest share of a noise, 0 elsewhere, with a soft edge."""
    return np.clip((np.quantile(noise, min(1.0, share)) - noise) / 0.06 + 0.5, 0, 1) * (share > 0)


def paint(recipe: Recipe) -> Image.Image:
    """The picture of a recipe."""
    return Canvas(recipe).picture()


RECIPES = {
    "liver": Recipe(
        seed=1,
        eosin=0.893,
        haze=0.025,
        mottle=0.76,
        fibres=0.0,
        fibre_length=17.426,
        cell=24.324,
        membrane=0.381,
        nucleus=3.105,
        dark=0.657,
        odd=0.466,
        clefts=0.096,
        cleft_grain=71.209,
        loose=0.085,
        lymphocytes=129,
        strength=1.144,
        blur=1.322,
    ),
    "colon": Recipe(
        seed=1,
        eosin=0.599,
        haze=0.096,
        mottle=0.553,
        fibres=0.668,
        fibre_length=4.0,
        cell=28.029,
        membrane=0.034,
        nucleus=3.253,
        dark=0.864,
        odd=0.486,
        clefts=0.034,
        cleft_grain=63.763,
        loose=0.756,
        lymphocytes=154.147,
        strength=1.184,
        blur=1.6,
    ),
    "lung": Recipe(
        seed=2,
        eosin=0.139,
        haze=0.341,
        mottle=0.714,
        fibres=0.9,
        fibre_length=23.781,
        cell=14.691,
        membrane=0.36,
        nucleus=6.353,
        dark=0.3,
        odd=0.5,
        clefts=0.036,
        cleft_grain=8.0,
        loose=0.464,
        lymphocytes=98.027,
        strength=0.818,
        blur=1.222,
    ),
}
"""By the organ that the shipped encoder takes the picture for."""


def main() -> None:
    """Write all pictures beside this file."""
    for name, recipe in RECIPES.items():
        paint(recipe).save(Path(__file__).with_name(f"{name}.jpg"), quality=76)


if __name__ == "__main__":
    main()
