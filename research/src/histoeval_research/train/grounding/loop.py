"""How a grounding model learns: new views of tiles, against the bank of entries in every step.

Before it learns what tiles show, the trunk may learn from tiles without labels: two views of a tile
should be nearer to each other than to views of all other tiles (SimCLR, Chen and others 2020).
Nothing but pixels is used, so tiles without a diagnosis help as much as others.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval.evaluate.tile_labels import SIDE, LabelledTile, TileConcept, exclusive
from histoeval_research.train.core.loop import StepPlan, TrainingStage, cosine_share, take_steps
from histoeval_research.train.grounding.model import (
    MEAN,
    STD,
    ContrastiveModel,
    ImageTowerModel,
    bank_loss,
    frozen,
    group_loss,
)

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
