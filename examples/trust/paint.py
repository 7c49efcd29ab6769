"""Paint the four pictures of this folder: tissue of the imagination, in haematoxylin and eosin.

Nothing here comes from a patient. Run it anywhere that has numpy and pillow::

    python examples/trust/paint.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

SIDE = 480
HAEMATOXYLIN = np.array([0.650, 0.704, 0.286])
EOSIN = np.array([0.072, 0.990, 0.105])
Layer = NDArray[np.float64]

_Y, _X = np.mgrid[0:SIDE, 0:SIDE].astype(np.float64)


class Canvas:
    """Two stains, laid on as optical densities."""

    def __init__(self, seed: int, eosin: float = 0.35) -> None:
        self.random = np.random.default_rng(seed)
        self.blue = np.full((SIDE, SIDE), 0.04)
        self.pink = eosin * (0.75 + 0.5 * self.cloud(24))

    def cloud(self, grain: int) -> Layer:
        """Soft noise between 0 and 1, of about this grain in pixels."""
        coarse = self.random.random((SIDE // grain + 2,) * 2)
        soft = Image.fromarray((255 * coarse).astype(np.uint8)).resize(
            (SIDE, SIDE), Image.Resampling.BICUBIC
        )
        return np.asarray(soft, np.float64) / 255

    def nucleus(self, x: float, y: float, size: float, dark: float, odd: float = 0.15) -> None:
        """A soft ellipse, rounder or odder, paler or darker."""
        wide, high = size * (1 + odd * self.random.standard_normal(2)).clip(0.5, 1.8)
        turn, weight = self.random.uniform(0, np.pi), 0.8 + 0.4 * self.random.random()
        reach = int(1.2 * max(wide, high)) + 1
        near = tuple(slice(max(0, int(at) - reach), max(0, int(at) + reach + 1)) for at in (y, x))
        dx, dy = _X[near] - x, _Y[near] - y
        u = (dx * np.cos(turn) + dy * np.sin(turn)) / wide
        v = (dy * np.cos(turn) - dx * np.sin(turn)) / high
        self.blue[near] += dark * weight * np.clip((1.15 - np.hypot(u, v)) / 0.3, 0, 1)

    def gland(self, x: float, y: float, size: float, cells: int, odd: float, dark: float) -> None:
        """A ring of cells around a hollow."""
        lobes = 1 + odd * np.sin(self.random.integers(2, 6) * _angle(x, y) + x)
        far = np.hypot(_X - x, _Y - y) / (size * lobes)
        wall = np.clip(1 - np.abs(far - 0.78) / 0.3, 0, 1)
        self.pink = self.pink * (1 - 0.9 * np.clip((0.62 - far) / 0.1, 0, 1)) + 0.28 * wall
        for at in np.linspace(0, 2 * np.pi, cells, endpoint=False):
            reach = size * (0.92 + 0.5 * odd * self.random.standard_normal())
            nucleus = x + reach * np.cos(at), y + reach * np.sin(at)
            self.nucleus(*nucleus, 4.2 + 3 * odd, dark, 0.15 + odd)

    def scatter(self, cells: int, size: float, dark: float, odd: float = 0.15) -> None:
        """Cells anywhere."""
        for x, y in self.random.uniform(0, SIDE, (cells, 2)):
            self.nucleus(x, y, size, dark, odd)

    def picture(self) -> Image.Image:
        """Light through both stains."""
        density = self.blue[..., None] * HAEMATOXYLIN + self.pink[..., None] * EOSIN
        grain = 1 + 0.02 * self.random.standard_normal((SIDE, SIDE, 1))
        light = 245 * np.exp(-1.6 * density) * grain
        made = Image.fromarray(np.clip(light, 0, 255).astype(np.uint8))
        return made.filter(ImageFilter.GaussianBlur(0.7))


def _angle(x: float, y: float) -> Layer:
    return np.asarray(np.arctan2(_Y - y, _X - x))


def regular_glands() -> Image.Image:
    """Round glands in rows, as in healthy colon."""
    canvas = Canvas(1)
    for x in range(48, SIDE, 96):
        for y in range(48, SIDE, 96):
            canvas.gland(x, y, 34, 22, 0.03, 0.7)
    canvas.scatter(60, 3.5, 0.5)
    return canvas.picture()


def crowded_glands() -> Image.Image:
    """Crowded, misshapen glands with large dark nuclei, as in adenocarcinoma."""
    canvas = Canvas(2, eosin=0.5)
    for x, y in canvas.random.uniform(20, SIDE - 20, (34, 2)):
        canvas.gland(x, y, canvas.random.uniform(22, 46), 26, 0.22, 0.8)
    canvas.scatter(160, 5.0, 0.7, 0.4)
    return canvas.picture()


def small_round_cells() -> Image.Image:
    """Sheets of small dark cells, as in lymphoid tissue."""
    canvas = Canvas(3, eosin=0.22)
    canvas.scatter(1500, 4.4, 0.65, 0.1)
    return canvas.picture()


def fat() -> Image.Image:
    """Large empty cells with thin walls."""
    canvas = Canvas(4, eosin=0.03)
    for row, y in enumerate(range(0, SIDE + 60, 56)):
        for x in range(-30 + (row % 2) * 32, SIDE + 60, 64):
            far = np.hypot((_X - x) / 33, (_Y - y) / 31)
            canvas.pink += 0.4 * np.clip(1 - np.abs(far - 1) / 0.09, 0, 1)
    canvas.scatter(40, 3.0, 0.5)
    return canvas.picture()


def main() -> None:
    """Write all four beside this file."""
    for paint in (regular_glands, crowded_glands, small_round_cells, fat):
        paint().save(Path(__file__).with_name(f"{paint.__name__}.jpg"), quality=76)


if __name__ == "__main__":
    main()
