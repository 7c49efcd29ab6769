"""How a grounding model learns: tiles against the bank of entries, a new view in every step."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from histoeval.evaluate.tile_labels import LabelledTile, TileConcept, exclusive
from histoeval_research.train.core.loop import StepPlan, TrainingStage, cosine_share, take_steps
from histoeval_research.train.grounding.augmentation import AugmentationSettings, normalised, view
from histoeval_research.train.grounding.model import (
    ContrastiveModel,
    ImageTowerModel,
    bank_loss,
    frozen,
    group_loss,
)

WEIGHTS = {"organ": 1.0, "concept": 0.5, "behaviour": 2.0, "site": 1.0, "stain": 0.2, "bank": 1.0}
"""What each part of the loss counts; families are learned in the bank only."""

_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """The settings of a training that do not depend on data."""

    epochs: int = 8
    batch: int = 256
    rate: float = 1e-3
    """Of the projection and the head of phrases."""
    trunk_rate: float = 3e-5
    """Of the last block; at 0 the trunk stays as it is."""
    still: int = 0
    """Blocks of the trunk that do not learn, from the first on, nor what is below them."""
    layer_decay: float = 0.75
    """Each block learns so much slower than the one after it."""
    weight_decay: float = 0.05
    warm_up: float = 0.1
    together: int = 1
    """Tiles of a slide in a step, whose mean must also be right: a label is of the slide."""
    average: float = 0.0
    """How much of the running average of weights is kept in a step; at 0 there is none."""
    seed: int = 1
    views: AugmentationSettings = field(default_factory=AugmentationSettings)


@dataclass(frozen=True, slots=True)
class TileDataset:
    """What is learned from: tiles as bytes, what they show, and phrases as vectors."""

    pixels: Tensor
    tiles: Sequence[LabelledTile]
    targets: Tensor
    entries: Sequence[TileConcept]
    phrases: Sequence[Tensor]
    """For each entry one row for each of its wordings."""
    unlabelled: Tensor | None = None
    """Tiles, as bytes, of which nothing is known but their pixels."""

    def rivals(self) -> Tensor:
        """The targets within groups of which one entry is true."""
        found = exclusive(self.tiles, self.entries, self.targets.cpu().numpy())
        return torch.from_numpy(found).to(self.targets.device)

    def wordings(self) -> Tensor:
        """All wordings as one table, entries by wordings; short rows are filled with their own."""
        most = max(map(len, self.phrases))
        rows = [rows[torch.arange(most) % len(rows)] for rows in self.phrases]
        return torch.stack(rows)


def parameter_groups(model: ContrastiveModel, course: LoopSettings) -> list[dict[str, Any]]:
    """Weights with the rate at which each learns."""
    heads = [p for n, p in model.named_parameters() if not n.startswith("image.trunk")]
    groups: list[dict[str, Any]] = [{"params": heads, "lr": course.rate}]
    trunk = model.image.trunk
    if not course.trunk_rate:
        frozen(trunk)
        return groups
    depth = len(trunk.blocks)
    for layer, block in enumerate(trunk.blocks):
        if layer < course.still:
            frozen(block)
            continue
        rate = course.trunk_rate * course.layer_decay ** (depth - 1 - layer)
        groups.append({"params": list(block.parameters()), "lr": rate})
    groups.append({"params": list(trunk.norm.parameters()), "lr": course.trunk_rate})
    below = ("patches", "summary", "positions")
    rest = [p for n, p in trunk.named_parameters() if n.startswith(below)]
    if course.still:
        for weights in rest:
            weights.requires_grad_(False)
        return groups
    groups.append({"params": rest, "lr": course.trunk_rate * course.layer_decay**depth})
    return groups


class Bank:
    """What tiles are compared with in a step: each entry in one of its wordings."""

    def __init__(self, lesson: TileDataset, seed: int) -> None:
        self._table = lesson.wordings()
        self._targets = lesson.targets
        self._rivals = lesson.rivals()
        self.draws = torch.Generator().manual_seed(seed)
        self._columns = {
            group: torch.tensor([i for i, e in enumerate(lesson.entries) if e.group == group])
            for group in WEIGHTS
            if any(entry.group == group for entry in lesson.entries)
        }

    def loss(self, model: ContrastiveModel, vectors: Tensor, rows: Tensor) -> Tensor:
        """The loss of the tiles at these rows, which have these vectors."""
        count, most = self._table.shape[:2]
        chosen = torch.randint(most, (count,), generator=self.draws)
        phrases = self._table[torch.arange(count), chosen]
        logits = (vectors @ model.phrase(phrases).T) * model.steepness
        targets, rivals = self._targets[rows], self._rivals[rows]
        total = WEIGHTS["bank"] * bank_loss(logits + model.offset, targets)
        for group, columns in self._columns.items():
            places = columns.to(logits.device)
            part = group_loss(logits[:, places], rivals[:, places])
            total = total + WEIGHTS[group] * part
        return total


def _steps(lesson: TileDataset, rows: Sequence[int], course: LoopSettings) -> Iterator[Tensor]:
    """The tiles of each step of all epochs; tiles of a slide that stand together follow on."""
    chances = weights_of([lesson.tiles[i] for i in rows])
    draws = np.random.default_rng(course.seed)
    order = np.array(rows)
    slides: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        slides[lesson.tiles[row].slide].append(row)
    for _ in range(steps_of(course, len(rows))):
        first = draws.choice(order, max(1, course.batch // course.together), p=chances)
        others = [
            draws.choice(slides[lesson.tiles[row].slide], course.together - 1) for row in first
        ]
        chosen = np.concatenate([first[:, None], np.stack(others)], axis=1)
        yield torch.from_numpy(chosen.reshape(-1).astype(np.int64))


def steps_of(course: LoopSettings, count: int) -> int:
    """All steps of a training with so many tiles."""
    return course.epochs * max(1, count // course.batch)


def step_loss(
    bank: Bank, model: ContrastiveModel, vectors: Tensor, rows: Tensor, together: int
) -> Tensor:
    """The loss of tiles, and where some stand together, half of it that of their mean."""
    loss = bank.loss(model, vectors, rows)
    if together == 1:
        return loss
    means = vectors.view(-1, together, vectors.shape[-1]).mean(dim=1)
    slides = torch.nn.functional.normalize(means, dim=-1)
    return (loss + bank.loss(model, slides, rows[::together])) / 2


def learn(
    model: ContrastiveModel,
    lesson: TileDataset,
    rows: Sequence[int],
    course: LoopSettings,
    stage: TrainingStage | None = None,
) -> ContrastiveModel:
    """Train a model on these rows; it is the one that comes back.

    With a stage every finished epoch is stored, and a stopped training resumes.
    """
    device, bank = lesson.pixels.device, Bank(lesson, course.seed)
    draws = torch.Generator(device=device).manual_seed(course.seed)
    steps = steps_of(course, len(rows))

    def loss(chosen: Tensor) -> Tensor:
        """That of new views of some tiles."""
        some = chosen.to(device)
        pixels = view(lesson.pixels[some], course.views, draws, course.together)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            vectors = model.image(pixels)
        return step_loss(bank, model, vectors, some, course.together)

    plan = StepPlan(
        steps,
        lambda step: cosine_share(step, steps, course.warm_up),
        keep_every=steps // course.epochs,
        decay=course.weight_decay,
        average=course.average,
        sources={"views": draws, "wordings": bank.draws},
    )
    groups = parameter_groups(model, course)
    take_steps(
        model,
        groups,
        lambda taken: islice(_steps(lesson, rows, course), taken, None),
        loss,
        plan,
        stage or TrainingStage(),
    )
    return model


def embedded(model: ContrastiveModel, pixels: Tensor) -> npt.NDArray[np.float32]:
    """The vectors of tiles as they are."""
    vectors: npt.NDArray[np.float32] = embedded_by(model.image, pixels)
    return vectors


@torch.no_grad()  # type: ignore[untyped-decorator]
def embedded_by(tower: ImageTowerModel, pixels: Tensor) -> npt.NDArray[np.float32]:
    """The same by an image tower alone."""
    found = []
    for first in range(0, len(pixels), _AT_ONCE):
        some = normalised(pixels[first : first + _AT_ONCE].float() / 255)
        with torch.autocast(some.device.type, torch.bfloat16, enabled=some.is_cuda):
            found.append(tower(some).float().cpu())
    return np.asarray(torch.cat(found).numpy(), np.float32)


@torch.no_grad()  # type: ignore[untyped-decorator]
def entry_vectors(model: ContrastiveModel, phrases: Sequence[Tensor]) -> npt.NDArray[np.float32]:
    """One vector for each entry: the mean of its wordings."""
    means = [model.phrase(rows).mean(dim=0) for rows in phrases]
    return np.asarray(torch.nn.functional.normalize(torch.stack(means), dim=-1).cpu().numpy())


def weights_of(tiles: Sequence[LabelledTile]) -> npt.NDArray[np.float64]:
    """How often each tile is drawn.

    No case, in no organ a laboratory, and in none a behaviour outweighs the others.
    """
    counts: dict[object, int] = defaultdict(int)
    for tile in tiles:
        counts[_kind(tile)] += 1
    weights = np.array([counts[_kind(tile)] ** -0.5 for tile in tiles])
    weights *= np.array(_by_laboratory(tiles, weights))
    sums: dict[object, float] = defaultdict(float)
    for tile, weight in zip(tiles, weights, strict=True):
        sums[tile.organ, tile.behaviour] += weight
    factors = [_balance(tile, sums) for tile in tiles]
    weights = weights * np.array(factors)
    return np.asarray(weights / weights.sum(), np.float64)


def _kind(tile: LabelledTile) -> object:
    return tile.laboratory, tile.organ, tile.concept, tile.stain_kind


def _by_laboratory(tiles: Sequence[LabelledTile], weights: npt.NDArray[np.float64]) -> list[float]:
    """Up to three times as often where an organ comes mostly from another laboratory."""
    sums: dict[tuple[str | None, str], float] = defaultdict(float)
    for tile, weight in zip(tiles, weights, strict=True):
        sums[tile.organ, tile.laboratory] += weight
    most: dict[str | None, float] = defaultdict(float)
    for (organ, _), total in sums.items():
        most[organ] = max(most[organ], total)
    return [min(3.0, most[tile.organ] / sums[tile.organ, tile.laboratory]) for tile in tiles]


def _balance(tile: LabelledTile, sums: Mapping[object, float]) -> float:
    """Up to three times as often where an organ is mostly of the other behaviour."""
    if tile.organ is None or tile.behaviour is None:
        return 0.3
    other = {"benign": "malignant", "malignant": "benign"}[tile.behaviour]
    share = sums.get((tile.organ, other), 0.0) / sums[tile.organ, tile.behaviour]
    return min(3.0, max(1.0, share))
