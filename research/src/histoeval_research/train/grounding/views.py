"""Views of tiles: cut, turned, restained, relit, blurred and made coarser by chance."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval.evaluate.tile_labels import SIDE
from histoeval_research.train.grounding.config import AugmentationSettings
from histoeval_research.train.grounding.model import colour_scale

_STAINS = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))
"""Optical densities of haematoxylin, eosin and the residual, as Ruifrok and Johnston give them."""

_TOGETHER = np.array(_STAINS) / np.linalg.norm(_STAINS, axis=1, keepdims=True)
_APART = np.linalg.inv(_TOGETHER)
_DARKEST = 1 / 255
_FOUR = 4


def normalised(pixels: Tensor) -> Tensor:
    """Pixels of 0 to 1, scaled as the trunk expects them."""
    mean, std = colour_scale(pixels.device)
    return (pixels - mean) / std


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


def _farther(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some groups of four tiles as one picture of them side by side, each in another order."""
    groups = pixels.view(-1, _FOUR, *pixels.shape[1:])
    halves = nn.functional.avg_pool2d(pixels, 2).view(-1, _FOUR, 3, SIDE // 2, SIDE // 2)
    pictures = []
    for n in range(_FOUR):
        four = halves.roll(n, dims=1)
        rows = [torch.cat([four[:, i], four[:, i + 1]], dim=3) for i in (0, 2)]
        pictures.append(torch.cat(rows, dim=2))
    is_chosen = _uniform(len(groups), 0, 1, draws).unsqueeze(1) < views.farther
    return torch.where(is_chosen, torch.stack(pictures, dim=1), groups).view_as(pixels)


def _cut(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """A square somewhere in the tile, turned by any angle, brought to the size of the tile."""
    count = len(pixels)
    side = _uniform(count, views.smallest, 1.0, draws).sqrt().view(-1)
    angle = _uniform(count, -math.pi, math.pi, draws).view(-1)
    angle = torch.where(_uniform(count, 0, 1, draws).view(-1) < 0.5, angle, torch.zeros_like(angle))
    moves = [(_uniform(count, -1, 1, draws).view(-1)) * (1 - side) for _ in range(2)]
    cos, sin = side * angle.cos(), side * angle.sin()
    rows = (torch.stack([cos, -sin, moves[0]], 1), torch.stack([sin, cos, moves[1]], 1))
    size = [count, 3, SIDE, SIDE]
    grid = nn.functional.affine_grid(torch.stack(rows, 1), size, align_corners=False)
    return nn.functional.grid_sample(
        pixels, grid, mode="bilinear", padding_mode="reflection", align_corners=False
    )


def _turned(pixels: Tensor, draws: Any) -> Tensor:
    """Mirrored and turned by right angles, all of a step alike in no way but by chance."""
    for dims in ((2,), (3,)):
        is_chosen = _uniform(len(pixels), 0, 1, draws) < 0.5
        pixels = torch.where(is_chosen, pixels.flip(dims), pixels)
    is_chosen = _uniform(len(pixels), 0, 1, draws) < 0.5
    return torch.where(is_chosen, pixels.transpose(2, 3), pixels)


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
    is_grey = _uniform(count, 0, 1, draws) < views.grey
    return (pixels - grey) * torch.where(is_grey, torch.zeros_like(colour), colour) + grey


def _blurred(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some a little out of focus, as scanners are, and some with noise."""
    soft = nn.functional.avg_pool2d(nn.functional.pad(pixels, (1, 1, 1, 1), "reflect"), 3, 1)
    amount = _uniform(len(pixels), 0.3, 1.0, draws)
    is_chosen = _uniform(len(pixels), 0, 1, draws) < views.blurred
    pixels = torch.where(is_chosen, pixels + (soft - pixels) * amount, pixels)
    noise = torch.randn(pixels.shape, generator=draws, device=draws.device)
    return pixels + noise * _uniform(len(pixels), 0, 0.02, draws)


def _coarse(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    """Some with fewer pixels, brought back to size."""
    lot = _uniform(len(pixels), 0, 1, draws)
    for part, factor in enumerate((2, 3)):
        small = nn.functional.interpolate(pixels, size=SIDE // factor, mode="area")
        large = nn.functional.interpolate(small, size=SIDE, mode="bilinear")
        low, high = part * views.coarse / 2, (part + 1) * views.coarse / 2
        pixels = torch.where((lot >= low) & (lot < high), large, pixels)
    return pixels
