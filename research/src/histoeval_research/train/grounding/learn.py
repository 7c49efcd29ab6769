"""How a grounding model learns: names, pixels, and new views of tiles against the bank of entries.

The text tower first learns to put names where the aligner does. Before the image tower learns what
tiles show, its trunk may learn from tiles without labels: two views of a tile should be nearer to
each other than to views of all other tiles (SimCLR, Chen and others 2020). Nothing but pixels is
used, so tiles without a diagnosis help as much as others.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from histoeval.evaluate.tile_labels import (
    SIDE,
    TRUE,
    UNKNOWN,
    LabelledTile,
    Targets,
    TileConcept,
    organs,
)
from histoeval_research.train.core.loop import StepPlan, TrainingStage, cosine_share, take_steps
from histoeval_research.train.grounding.config import (
    AugmentationSettings,
    Distillation,
    LoopSettings,
    SelfSupervision,
)
from histoeval_research.train.grounding.model import ContrastiveModel, ImageTowerModel, colour_scale

# Optical densities of haematoxylin, eosin and the residual, as Ruifrok and Johnston give them.
_STAINS = ((0.65, 0.70, 0.29), (0.07, 0.99, 0.11), (0.27, 0.57, 0.78))

_TOGETHER = np.array(_STAINS) / np.linalg.norm(_STAINS, axis=1, keepdims=True)
_APART = np.linalg.inv(_TOGETHER)
_DARKEST = 1 / 255
_FOUR = 4


def normalised(pixels: Tensor) -> Tensor:
    mean, std = colour_scale(pixels.device)
    return (pixels - mean) / std


def view(tiles: Tensor, views: AugmentationSettings, draws: Any, together: int = 1) -> Tensor:
    """One view of each tile (bytes, colours first), normalised; `draws` is a torch generator."""
    # So many tiles that follow one another are of one slide.
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
    soft = nn.functional.avg_pool2d(nn.functional.pad(pixels, (1, 1, 1, 1), "reflect"), 3, 1)
    amount = _uniform(len(pixels), 0.3, 1.0, draws)
    is_chosen = _uniform(len(pixels), 0, 1, draws) < views.blurred
    pixels = torch.where(is_chosen, pixels + (soft - pixels) * amount, pixels)
    noise = torch.randn(pixels.shape, generator=draws, device=draws.device)
    return pixels + noise * _uniform(len(pixels), 0, 0.02, draws)


def _coarse(pixels: Tensor, views: AugmentationSettings, draws: Any) -> Tensor:
    lot = _uniform(len(pixels), 0, 1, draws)
    for part, factor in enumerate((2, 3)):
        small = nn.functional.interpolate(pixels, size=SIDE // factor, mode="area")
        large = nn.functional.interpolate(small, size=SIDE, mode="bilinear")
        low, high = part * views.coarse / 2, (part + 1) * views.coarse / 2
        pixels = torch.where((lot >= low) & (lot < high), large, pixels)
    return pixels


KEPT_EVERY = 250  # steps between two checkpoints of the text tower

# What each part of the loss counts; families are learned in the bank only.
WEIGHTS = {"organ": 1.0, "concept": 0.5, "behaviour": 2.0, "site": 1.0, "stain": 0.2, "bank": 1.0}

_HIDDEN, _COMPARED = 512, 128
_AT_ONCE = 256


def distil(
    student: Any,
    rows: Sequence[Sequence[int]],
    places: Callable[[Sequence[int]], Tensor],
    how: Distillation,
    stage: TrainingStage | None = None,
) -> float:
    """Train the student (tokens, mask to unit vectors) to put names where the teacher does."""
    # `places` gives the teacher's vectors of some rows. The mean cosine between both over the last
    # hundred steps comes back. With a stage a stopped run resumes.
    device = next(student.parameters()).device
    near: list[float] = []
    torch.manual_seed(how.seed)

    def batches(taken: int) -> Iterator[list[int]]:
        draws = np.random.default_rng(how.seed)
        size = min(how.batch, len(rows))
        drawn = (draws.choice(len(rows), size, replace=False).tolist() for _ in range(how.steps))
        return islice(drawn, taken, None)

    def loss(chosen: list[int]) -> Tensor:
        wanted = places(chosen).to(device)
        some = [torch.tensor(rows[i]) for i in chosen]
        tokens = pad_sequence(some, batch_first=True).to(device)
        mask = pad_sequence([torch.ones_like(row) for row in some], batch_first=True).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            given = student(tokens, mask)
        cosines = (given * wanted).sum(dim=-1)
        near.append(float(cosines.detach().mean()))
        apart = (given @ given.T - wanted @ wanted.T).square().mean()
        return (1 - cosines).mean() + 10 * apart

    groups = [{"params": list(student.parameters()), "lr": how.rate}]
    share = partial(cosine_share, steps=how.steps, warm_up=how.warm_up)
    plan = StepPlan(how.steps, share, keep_every=KEPT_EVERY, history=near)
    take_steps(student, groups, batches, loss, plan, stage or TrainingStage())
    return float(np.mean(near[-100:])) if near else math.nan


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
        return nn.functional.normalize(self.head(self.image.features(pixels)).float(), dim=-1)


def continue_trunk(
    image: ImageTowerModel, pixels: Tensor, how: SelfSupervision, stage: TrainingStage
) -> None:
    device, steps = pixels.device, how.steps(len(pixels))
    torch.manual_seed(how.seed)
    model = ComparedViews(image).to(device)
    draws = torch.Generator(device=device).manual_seed(how.seed)

    def batches(taken: int) -> Iterator[Tensor]:
        chance = np.random.default_rng(how.seed)
        size = min(how.batch, len(pixels))
        drawn = (chance.choice(len(pixels), size, replace=False) for _ in range(steps))
        return (torch.from_numpy(some).to(device) for some in islice(drawn, taken, None))

    def loss(chosen: Tensor) -> Tensor:
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
        partial(cosine_share, steps=steps, warm_up=how.warm_up),
        keep_every=max(1, steps // how.epochs),
        decay=how.weight_decay,
        sources={"views": draws},
    )
    groups = [{"params": [p for p in model.parameters() if p.requires_grad], "lr": how.rate}]
    take_steps(model, groups, batches, loss, plan, stage)


class TileDataset(NamedTuple):
    """What is learned from: tiles as bytes, what they show, and phrases as vectors."""

    pixels: Tensor
    tiles: Sequence[LabelledTile]
    targets: Tensor
    entries: Sequence[TileConcept]
    phrases: Sequence[Tensor]  # for each entry one row for each of its wordings
    unlabelled: Tensor | None = None  # tiles, as bytes, of which nothing is known but their pixels


def exclusive(
    tiles: Sequence[LabelledTile], entries: Sequence[TileConcept], targets: Targets
) -> Targets:
    """The targets for groups of which one entry is true: organs that hold the right one wait."""
    named = {
        place: entry.name.partition(" ")[2] if entry.group == "site" else entry.name
        for place, entry in enumerate(entries)
        if entry.group in ("organ", "site")
    }
    broader = np.zeros(targets.shape, bool)
    for row, tile in enumerate(tiles):
        held = organs().get(tile.organ or "", ())
        broader[row, [place for place, organ in named.items() if organ in held]] = True
    return np.where(broader & (targets == TRUE), UNKNOWN, targets).astype(np.int8)


class Bank:
    """What tiles are compared with in a step: each entry in one of its wordings."""

    def __init__(self, lesson: TileDataset, seed: int) -> None:
        # All wordings as one table, entries by wordings; short rows are filled with their own.
        most = max(map(len, lesson.phrases))
        filled = [rows[torch.arange(most) % len(rows)] for rows in lesson.phrases]
        self._table = torch.stack(filled)
        self._targets = lesson.targets
        rivals = exclusive(lesson.tiles, lesson.entries, lesson.targets.cpu().numpy())
        self._rivals = torch.from_numpy(rivals).to(lesson.targets.device)
        self.draws = torch.Generator().manual_seed(seed)
        groups = [entry.group for entry in lesson.entries]
        self._columns = {
            group: torch.tensor([place for place, own in enumerate(groups) if own == group])
            for group in WEIGHTS
            if group in groups
        }

    def loss(self, model: ContrastiveModel, vectors: Tensor, rows: Tensor) -> Tensor:
        count, most = self._table.shape[:2]
        chosen = torch.randint(most, (count,), generator=self.draws)
        phrases = self._table[torch.arange(count), chosen]
        logits = (vectors @ model.phrase(phrases).T) * model.steepness
        targets, rivals = self._targets[rows], self._rivals[rows]
        total = WEIGHTS["bank"] * bank_loss(logits + model.offset, targets)
        for group, columns in self._columns.items():
            places = columns.to(logits.device)
            total = total + WEIGHTS[group] * group_loss(logits[:, places], rivals[:, places])
        return total


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
    losses = nn.functional.binary_cross_entropy_with_logits(logits, true, reduction="none")
    yes, no = ((losses * of).sum() / of.sum().clamp(min=1) for of in (true, false))
    return (yes + no) / 2


def learn(
    model: ContrastiveModel,
    lesson: TileDataset,
    rows: Sequence[int],
    course: LoopSettings,
    stage: TrainingStage | None = None,
) -> ContrastiveModel:
    """Train a model on these rows; it is the one that comes back."""
    # With a stage every finished epoch is stored, and a stopped training resumes.
    device, bank = lesson.pixels.device, Bank(lesson, course.seed)
    draws = torch.Generator(device=device).manual_seed(course.seed)
    steps = course.steps(len(rows))

    def loss(chosen: Tensor) -> Tensor:
        """That of new views of tiles; where some stand together, half of it that of their mean."""
        some = chosen.to(device)
        pixels = view(lesson.pixels[some], course.views, draws, course.together)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            vectors = model.image(pixels)
        own = bank.loss(model, vectors, some)
        if course.together == 1:
            return own
        means = vectors.view(-1, course.together, vectors.shape[-1]).mean(dim=1)
        slides = nn.functional.normalize(means, dim=-1)
        return (own + bank.loss(model, slides, some[:: course.together])) / 2

    plan = StepPlan(
        steps,
        partial(cosine_share, steps=steps, warm_up=course.warm_up),
        keep_every=steps // course.epochs,
        decay=course.weight_decay,
        average=course.average,
        sources={"views": draws, "wordings": bank.draws},
    )
    take_steps(
        model,
        parameter_groups(model, course),
        lambda taken: islice(_batches(lesson, rows, course), taken, None),
        loss,
        plan,
        stage or TrainingStage(),
    )
    return model


def parameter_groups(model: ContrastiveModel, course: LoopSettings) -> list[dict[str, Any]]:
    heads = [p for n, p in model.named_parameters() if not n.startswith("image.trunk")]
    groups: list[dict[str, Any]] = [{"params": heads, "lr": course.rate}]
    trunk = model.image.trunk
    if not course.trunk_rate:
        trunk.requires_grad_(False)
        return groups
    depth = len(trunk.blocks)
    for layer, block in enumerate(trunk.blocks):
        if layer < course.still:
            block.requires_grad_(False)
            continue
        rate = course.trunk_rate * course.layer_decay ** (depth - 1 - layer)
        groups.append({"params": list(block.parameters()), "lr": rate})
    groups.append({"params": list(trunk.norm.parameters()), "lr": course.trunk_rate})
    below = ("patches", "summary", "positions")
    rest = [p for n, p in trunk.named_parameters() if n.startswith(below)]
    if course.still:
        for weights in rest:
            weights.requires_grad_(False)
    else:
        groups.append({"params": rest, "lr": course.trunk_rate * course.layer_decay**depth})
    return groups


def _batches(lesson: TileDataset, rows: Sequence[int], course: LoopSettings) -> Iterator[Tensor]:
    shares = shares_of([lesson.tiles[i] for i in rows])
    draws = np.random.default_rng(course.seed)
    order = np.array(rows)
    slides: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        slides[lesson.tiles[row].slide].append(row)
    for _ in range(course.steps(len(rows))):
        first = draws.choice(order, max(1, course.batch // course.together), p=shares)
        others = [
            draws.choice(slides[lesson.tiles[row].slide], course.together - 1) for row in first
        ]
        chosen = np.concatenate([first[:, None], np.stack(others)], axis=1)
        yield torch.from_numpy(chosen.reshape(-1).astype(np.int64))


def shares_of(tiles: Sequence[LabelledTile]) -> npt.NDArray[np.float64]:
    """How often each tile is drawn."""
    # No case, in no organ a laboratory, and in none a behaviour outweighs the others: what is rarer
    # than the rest is drawn up to three times as often.
    weights = np.ones(len(tiles))

    def sums_by(*names: str) -> tuple[list[tuple[Any, ...]], dict[tuple[Any, ...], float]]:
        keys = [tuple(getattr(tile, name) for name in names) for tile in tiles]
        sums: dict[tuple[Any, ...], float] = defaultdict(float)
        for key, weight in zip(keys, weights, strict=True):
            sums[key] += weight
        return keys, sums

    keys, sums = sums_by("laboratory", "organ", "concept", "stain_kind")
    weights = np.array([sums[key] ** -0.5 for key in keys])
    keys, sums = sums_by("organ", "laboratory")
    most: dict[str | None, float] = defaultdict(float)
    for (organ, _), total in sums.items():
        most[organ] = max(most[organ], total)
    weights = weights * np.array([min(3.0, most[key[0]] / sums[key]) for key in keys])
    keys, sums = sums_by("organ", "behaviour")
    factors = []
    for organ, behaviour in keys:
        if organ is None or behaviour is None:
            factors.append(0.3)
            continue
        other = {"benign": "malignant", "malignant": "benign"}[behaviour]
        share = sums.get((organ, other), 0.0) / sums[organ, behaviour]
        factors.append(min(3.0, max(1.0, share)))
    weights = weights * np.array(factors)
    return np.asarray(weights / weights.sum(), np.float64)


@torch.no_grad()  # type: ignore[untyped-decorator]
def embedded(tower: ImageTowerModel, pixels: Tensor) -> npt.NDArray[np.float32]:
    parts = []
    for first in range(0, len(pixels), _AT_ONCE):
        some = normalised(pixels[first : first + _AT_ONCE].float() / 255)
        with torch.autocast(some.device.type, torch.bfloat16, enabled=some.is_cuda):
            parts.append(tower(some).float().cpu())
    return np.asarray(torch.cat(parts).numpy(), np.float32)


@torch.no_grad()  # type: ignore[untyped-decorator]
def entry_vectors(model: ContrastiveModel, phrases: Sequence[Tensor]) -> npt.NDArray[np.float32]:
    means = [model.phrase(rows).mean(dim=0) for rows in phrases]
    return np.asarray(nn.functional.normalize(torch.stack(means), dim=-1).cpu().numpy())
