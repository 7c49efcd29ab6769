"""Other views of the same tiles: turned, cut, restained, blurred; drawn anew in every step.

Colour goes with the laboratory, and a model that has seen one slide of each diagnosis would learn
the laboratory. So stains are taken apart (haematoxylin, eosin, residual, after Ruifrok and
Johnston 2001), each is made weaker or stronger, and they are put together again.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval.evaluate.tile_labels import SIDE
from histoeval_research.train.grounding.model import MEAN, STD

_STAINS = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))
"""Optical densities of haematoxylin, eosin and the residual, as Ruifrok and Johnston give them."""

_TOGETHER = np.array(_STAINS) / np.linalg.norm(_STAINS, axis=1, keepdims=True)
_APART = np.linalg.inv(_TOGETHER)

_DARKEST = 1 / 255


@dataclass(frozen=True, slots=True)
class AugmentationSettings:
    """How much views may differ from the tile."""

    stain: float = 0.25
    """How much stronger or weaker a stain becomes, as a share."""
    light: float = 0.2
    """The same for brightness, contrast and saturation."""
    smallest: float = 0.4
    """The least share of a tile's area that a view is cut from."""
    blurred: float = 0.3
    """The share of views that are blurred."""
    grey: float = 0.1
    """The share of views without colour."""
    farther: float = 0.0
    """The share of views of four tiles of a slide at half their magnification."""
    coarse: float = 0.0
    """The share of views with a half or a third of the resolution."""


def normalised(pixels: Tensor) -> Tensor:
    """Pixels of 0 to 1, scaled as the trunk expects them."""
    mean, std = (torch.tensor(v, device=pixels.device).view(3, 1, 1) for v in (MEAN, STD))
    return (pixels - mean) / std


_FOUR = 4


def view(tiles: Tensor, views: AugmentationSettings, draws: Any, together: int = 1) -> Tensor:
    """One view of each tile (bytes, colours first), normalised; `draws` is a torch generator.

    So many tiles that follow one another are of one slide.
    """
    pixels = tiles.float() / 255
    if views.farther and together == _FOUR:
        pixels = _farther(pixels, views, draws)
    pixels = _cut(pixels, views, draws)
    pixels = _turned(pixels, draws)
    pixels = _restained(pixels, views, draws)
    pixels = _relit(pixels, views, draws)
    pixels = _blurred(pixels, views, draws)
    if views.coarse:
        pixels = _coarse(pixels, views, draws)
    return normalised(pixels.clamp(0, 1))


def _uniform(count: int, low: float, high: float, draws: Any) -> Tensor:
    return torch.rand(count, 1, 1, 1, generator=draws, device=draws.device) * (high - low) + low


def _cut(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """A square somewhere in the tile, turned by any angle, brought to the size of the tile."""
    count = len(pixels)
    side = _uniform(count, views.smallest, 1.0, draws).sqrt().view(-1)
    angle = _uniform(count, -math.pi, math.pi, draws).view(-1)
    angle = torch.where(_uniform(count, 0, 1, draws).view(-1) < 0.5, angle, torch.zeros_like(angle))
    moves = [(_uniform(count, -1, 1, draws).view(-1)) * (1 - side) for _ in range(2)]
    cos, sin = side * angle.cos(), side * angle.sin()
    rows = (torch.stack([cos, -sin, moves[0]], 1), torch.stack([sin, cos, moves[1]], 1))
    grid = nn.functional.affine_grid(
        torch.stack(rows, 1), [count, 3, SIDE, SIDE], align_corners=False
    )
    return nn.functional.grid_sample(
        pixels, grid, mode="bilinear", padding_mode="reflection", align_corners=False
    )


def _farther(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some groups of four tiles as one picture of them side by side, each in another order."""
    groups = pixels.view(-1, _FOUR, *pixels.shape[1:])
    halves = nn.functional.avg_pool2d(pixels, 2).view(-1, _FOUR, 3, SIDE // 2, SIDE // 2)
    whole = torch.stack([_side_by_side(halves.roll(n, dims=1)) for n in range(_FOUR)], dim=1)
    chosen = _uniform(len(groups), 0, 1, draws).unsqueeze(1) < views.farther
    return torch.where(chosen, whole, groups).view_as(pixels)


def _side_by_side(four: Tensor) -> Tensor:
    rows = [torch.cat([four[:, i], four[:, i + 1]], dim=3) for i in (0, 2)]
    return torch.cat(rows, dim=2)


def _coarse(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some with fewer pixels, brought back to size."""
    lot = _uniform(len(pixels), 0, 1, draws)
    for part, factor in enumerate((2, 3)):
        small = nn.functional.interpolate(pixels, size=SIDE // factor, mode="area")
        large = nn.functional.interpolate(small, size=SIDE, mode="bilinear")
        low, high = part * views.coarse / 2, (part + 1) * views.coarse / 2
        pixels = torch.where((lot >= low) & (lot < high), large, pixels)
    return pixels


def _turned(pixels: Tensor, draws: Any) -> Tensor:
    """Mirrored and turned by right angles, all of a step alike in no way but by chance."""
    for dims in ((2,), (3,)):
        chosen = _uniform(len(pixels), 0, 1, draws) < 0.5
        pixels = torch.where(chosen, pixels.flip(dims), pixels)
    chosen = _uniform(len(pixels), 0, 1, draws) < 0.5
    return torch.where(chosen, pixels.transpose(2, 3), pixels)


def _restained(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    density = -pixels.clamp(min=_DARKEST).log()
    factors = [_uniform(len(pixels), 1 - views.stain, 1 + views.stain, draws) for _ in range(3)]
    shifts = [_uniform(len(pixels), -0.2, 0.2, draws) * views.stain for _ in range(3)]
    parts = [
        part * factor + shift
        for part, factor, shift in zip(_mixed(density, _APART), factors, shifts, strict=True)
    ]
    return (-torch.cat(_mixed(torch.cat(parts, 1), _TOGETHER), 1)).exp().clamp(0, 1)


def _mixed(channels: Tensor, weights: npt.NDArray[np.float64]) -> list[Tensor]:
    """Three channels mixed to three others; far faster in single steps than as a matrix product."""
    given = channels.split(1, dim=1)
    return [sum(part * float(w) for part, w in zip(given, row, strict=True)) for row in weights.T]


def _relit(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    count, amount = len(pixels), views.light
    bright, contrast, colour = (_uniform(count, 1 - amount, 1 + amount, draws) for _ in range(3))
    pixels = pixels * bright
    middle = pixels.mean(dim=(1, 2, 3), keepdim=True)
    pixels = (pixels - middle) * contrast + middle
    grey = pixels.mean(dim=1, keepdim=True)
    colour = torch.where(
        _uniform(count, 0, 1, draws) < views.grey, torch.zeros_like(colour), colour
    )
    return (pixels - grey) * colour + grey


def _blurred(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some a little out of focus, as scanners are, and some with noise."""
    soft = nn.functional.avg_pool2d(nn.functional.pad(pixels, (1, 1, 1, 1), "reflect"), 3, 1)
    amount = _uniform(len(pixels), 0.3, 1.0, draws)
    chosen = _uniform(len(pixels), 0, 1, draws) < views.blurred
    pixels = torch.where(chosen, pixels + (soft - pixels) * amount, pixels)
    noise = torch.randn(pixels.shape, generator=draws, device=draws.device)
    return pixels + noise * _uniform(len(pixels), 0, 0.02, draws)
