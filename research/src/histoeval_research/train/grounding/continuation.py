"""The trunk learns from tiles without labels before it learns what they show.

Two views of a tile should be nearer to each other than to views of all other tiles (SimCLR, Chen
and others 2020). Nothing but pixels is used, so tiles without a diagnosis help as much as others.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import torch
from torch import Tensor, nn

from histoeval_research.train.core.loop import StepPlan, TrainingStage, cosine_share, take_steps
from histoeval_research.train.grounding.augmentation import AugmentationSettings, view
from histoeval_research.train.grounding.model import ImageTowerModel

_HIDDEN, _COMPARED = 512, 128


@dataclass(frozen=True, slots=True)
class SelfSupervision:
    """How the trunk is continued; at 0 epochs it is not."""

    epochs: int = 0
    batch: int = 512
    rate: float = 1e-4
    temperature: float = 0.2
    warm_up: float = 0.1
    weight_decay: float = 0.05
    seed: int = 1
    views: AugmentationSettings = field(default_factory=AugmentationSettings)

    def steps(self, count: int) -> int:
        """All steps with so many tiles."""
        return self.epochs * max(1, count // self.batch)


class ComparedViews(nn.Module):  # type: ignore[misc]
    """An image tower with a head in which views are compared; the head is thrown away."""

    def __init__(self, image: ImageTowerModel) -> None:
        super().__init__()
        self.image = image
        width = 2 * image.trunk.width
        self.head = nn.Sequential(
            nn.Linear(width, _HIDDEN), nn.GELU(), nn.Linear(_HIDDEN, _COMPARED)
        )

    def forward(self, pixels: Tensor) -> Tensor:
        """One vector of length one for each view."""
        return nn.functional.normalize(self.head(self.image.features(pixels)).float(), dim=-1)


def continue_trunk(
    image: ImageTowerModel, pixels: Tensor, how: SelfSupervision, stage: TrainingStage | None = None
) -> None:
    """Teach the trunk of a tower to know views of one tile again."""
    device, steps = pixels.device, how.steps(len(pixels))
    torch.manual_seed(how.seed)
    model = ComparedViews(image).to(device)
    draws = torch.Generator(device=device).manual_seed(how.seed)

    def batches(taken: int) -> Iterator[Tensor]:
        """Tiles drawn at random, the same for the same seed."""
        chance = np.random.default_rng(how.seed)
        size = min(how.batch, len(pixels))
        drawn = (chance.choice(len(pixels), size, replace=False) for _ in range(steps))
        return (torch.from_numpy(some).to(device) for some in islice(drawn, taken, None))

    def loss(chosen: Tensor) -> Tensor:
        """Which of all other views is the other one of the same tile?"""
        tiles = pixels[chosen]
        both = torch.cat([view(tiles, how.views, draws) for _ in range(2)])
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            vectors = model(both)
        logits = vectors @ vectors.T / how.temperature
        logits.fill_diagonal_(float("-inf"))
        partners = torch.arange(len(both), device=device).roll(len(tiles))
        return nn.functional.cross_entropy(logits, partners)

    plan = StepPlan(
        steps,
        lambda step: cosine_share(step, steps, how.warm_up),
        keep_every=max(1, steps // how.epochs),
        decay=how.weight_decay,
        sources={"views": draws},
    )
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "lr": how.rate}]
    take_steps(model, groups, batches, loss, plan, stage or TrainingStage())
