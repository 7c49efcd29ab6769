"""The two towers of a grounding model: images and phrases into one space."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from histoeval.train.grounding.vit import VisionTransformer

DIMENSION = 256
_HIDDEN = 512


class ImageTowerModel(nn.Module):  # type: ignore[misc]
    """Normalised pixels to vectors of length one: summary token and mean patch, projected."""

    def __init__(self, trunk: VisionTransformer, dimension: int = DIMENSION) -> None:
        super().__init__()
        self.trunk = trunk
        self.norm = nn.LayerNorm(2 * trunk.width, elementwise_affine=False)
        self.projection = nn.Linear(2 * trunk.width, dimension)

    def features(self, pixels: Tensor) -> Tensor:
        """What the trunk sees in an image, before the projection."""
        tokens = self.trunk(pixels)
        return torch.cat([tokens[:, 0], tokens[:, 1:].mean(dim=1)], dim=-1)

    def projected(self, features: Tensor) -> Tensor:
        """Features as vectors of length one."""
        return nn.functional.normalize(self.projection(self.norm(features)).float(), dim=-1)

    def forward(self, pixels: Tensor) -> Tensor:
        """One vector for each image."""
        return self.projected(self.features(pixels))


class PhraseHead(nn.Module):  # type: ignore[misc]
    """Vectors of an encoder of phrases to vectors of length one in the space of the images."""

    def __init__(self, width: int, dimension: int = DIMENSION) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, _HIDDEN), nn.GELU(), nn.Linear(_HIDDEN, dimension)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        """One vector for each phrase."""
        return nn.functional.normalize(self.layers(vectors).float(), dim=-1)


class ContrastiveModel(nn.Module):  # type: ignore[misc]
    """Both towers while they learn, and how cosines become log odds."""

    def __init__(self, image: ImageTowerModel, width: int) -> None:
        super().__init__()
        self.image = image
        self.phrase = PhraseHead(width, image.projection.out_features)
        self.scale = nn.Parameter(torch.tensor(2.3))
        self.offset = nn.Parameter(torch.tensor(-5.0))

    @property
    def steepness(self) -> Tensor:
        """What cosines are multiplied with; at most 30."""
        return self.scale.exp().clamp(max=30.0)


def group_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Of entries that exclude each other, the true ones should be likeliest; unknown ones wait."""
    true = targets == 1
    rows = true.any(dim=1).float()
    lowest = torch.finfo(logits.dtype).min
    every = logits.masked_fill(targets < 0, lowest).logsumexp(dim=1)
    right = logits.masked_fill(~true, lowest).logsumexp(dim=1)
    lost = torch.where(rows > 0, every - right, torch.zeros_like(every))
    return lost.sum() / rows.sum().clamp(min=1)


def bank_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Each known entry by itself, yes or no; the yeses together weigh as much as the noes."""
    true, false = (targets == 1).float(), (targets == 0).float()
    each = nn.functional.binary_cross_entropy_with_logits(logits, true, reduction="none")
    parts = [(each * of).sum() / of.sum().clamp(min=1) for of in (true, false)]
    return (parts[0] + parts[1]) / 2


def frozen(module: Any) -> None:
    """Nothing in it learns any more."""
    for weights in module.parameters():
        weights.requires_grad_(False)
