"""The two towers of a grounding model, images and phrases into one space, on a vision transformer.

The starting weights come from a package that installs by name and holds a DINOv2-S trunk inside an
ONNX graph (with a saliency head that is of no use here). The trunk's tensors are read from the
graph's initialisers, so nothing but `onnx` is needed to open them. The module is written for one
size of image, 224 pixels: the position table is resized once, at loading, which keeps the exported
graph free of resizing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from histoeval.errors import ModelError
from histoeval.evaluate.tile_labels import SIDE
from histoeval_research.train.core.loop import StepPlan, TrainingStage, cosine_share, take_steps

PATCH = 14
GRID = SIDE // PATCH
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
EPSILON = 1e-6
LINEARS = (
    "attention.key",
    "attention.value",
    "attention.query",
    "attention.output",
    "fc1",
    "fc2",
)
"""The matrices of a block in the order in which the graph multiplies by them."""

PER_BLOCK = {
    "norm1.weight": "norm1.weight",
    "norm1.bias": "norm1.bias",
    "norm2.weight": "norm2.weight",
    "norm2.bias": "norm2.bias",
    "attention.query.bias": "attention.attention.query.bias",
    "attention.key.bias": "attention.attention.key.bias",
    "attention.value.bias": "attention.attention.value.bias",
    "attention.output.bias": "attention.output.dense.bias",
    "fc1.bias": "mlp.fc1.bias",
    "fc2.bias": "mlp.fc2.bias",
    "scale1": "layer_scale1.lambda1",
    "scale2": "layer_scale2.lambda1",
}


class PatchAttention(nn.Module):  # type: ignore[misc]
    """Plain self-attention over the patches of one image."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.output = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Every token as a mixture of all."""
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        query, key, value = (
            part(x).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        out: torch.Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, width))
        return out


class TransformerBlock(nn.Module):  # type: ignore[misc]
    """One layer: attention and a two-layer net, each scaled per channel and added on."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width, eps=EPSILON)
        self.attention = PatchAttention(width, heads)
        self.scale1 = nn.Parameter(torch.ones(width))
        self.norm2 = nn.LayerNorm(width, eps=EPSILON)
        self.fc1 = nn.Linear(width, 4 * width)
        self.fc2 = nn.Linear(4 * width, width)
        self.scale2 = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The tokens, with what this layer has to add."""
        x = x + self.scale1 * self.attention(self.norm1(x))
        return x + self.scale2 * self.fc2(nn.functional.gelu(self.fc1(self.norm2(x))))


class VisionTransformer(nn.Module):  # type: ignore[misc]
    """224-pixel images, scaled by `MEAN` and `STD`, to the summary token and the patch tokens."""

    def __init__(self, width: int = 384, depth: int = 12, heads: int = 6) -> None:
        super().__init__()
        self.width = width
        self.patches = nn.Conv2d(3, width, PATCH, PATCH)
        self.summary = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, 1 + GRID * GRID, width))
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, eps=EPSILON)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """All tokens of the last layer, normalised: the summary first, then the patches."""
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.summary.expand(len(x), -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        tokens: torch.Tensor = self.norm(x)
        return tokens


def resized_positions(summary: torch.Tensor, patches: torch.Tensor) -> torch.Tensor:
    """The position table for a grid of `GRID` patches a side, from that of the weights."""
    side = round(patches.shape[1] ** 0.5)
    square = patches.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    small = nn.functional.interpolate(square, size=(GRID, GRID), mode="bicubic")
    return torch.cat([summary, small.permute(0, 2, 3, 1).reshape(1, GRID * GRID, -1)], dim=1)


def _initialisers(path: Path) -> Iterator[tuple[str, npt.NDArray[np.float32]]]:
    import onnx
    from onnx import numpy_helper

    for tensor in onnx.load(str(path)).graph.initializer:
        yield tensor.name, np.array(numpy_helper.to_array(tensor), dtype=np.float32)


def trunk_from_onnx(path: Path) -> VisionTransformer:
    """The DINOv2-S trunk whose tensors stand in the ONNX graph at `path`."""
    found = dict(_initialisers(path))
    matrices = [value for name, value in found.items() if name.startswith("onnx::MatMul")]
    tables = [v for n, v in found.items() if n.startswith("onnx::") and v.ndim == 3]
    if len(matrices) % len(LINEARS) or len(tables) != 2:
        raise ModelError(f"{path} does not hold the vision transformer this reads")
    depth = len(matrices) // len(LINEARS)
    trunk = VisionTransformer(width=tables[0].shape[-1], depth=depth)
    named = {
        "patches.weight": found["backbone.embeddings.patch_embeddings.projection.weight"],
        "patches.bias": found["backbone.embeddings.patch_embeddings.projection.bias"],
        "summary": found["backbone.embeddings.cls_token"],
        "norm.weight": found["backbone.layernorm.weight"],
        "norm.bias": found["backbone.layernorm.bias"],
    }
    for layer in range(depth):
        for ours, theirs in PER_BLOCK.items():
            named[f"blocks.{layer}.{ours}"] = found[f"backbone.encoder.layer.{layer}.{theirs}"]
        for ours, matrix in zip(LINEARS, matrices[6 * layer : 6 * layer + 6], strict=True):
            named[f"blocks.{layer}.{ours}.weight"] = matrix.T
    state = {name: torch.from_numpy(np.ascontiguousarray(value)) for name, value in named.items()}
    state["positions"] = resized_positions(*(torch.from_numpy(t) for t in tables))
    trunk.load_state_dict(state)
    return trunk


DIMENSION = 256
_HIDDEN = 512

_DARKEST = 1 / 255
_TISSUE, _SHARPNESS = 0.15, 20.0
"""The mean optical density from which on a pixel counts as tissue, and how sharply."""
_PRIOR = 0.02
"""The share of an image that stands for the reference: glass has no stain to be measured."""


class DensityReference(NamedTuple):
    """The mean and the spread of optical densities, one number for each colour."""

    mean: Tensor
    spread: Tensor


def density_of(pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Optical densities of normalised pixels, and how much each pixel is tissue."""
    mean, std = (torch.tensor(v, device=pixels.device).view(3, 1, 1) for v in (MEAN, STD))
    density = -(pixels.float() * std + mean).clamp(_DARKEST, 1.0).log()
    tissue = torch.sigmoid((density.mean(dim=1, keepdim=True) - _TISSUE) * _SHARPNESS)
    return density, tissue


def measured_density(density: Tensor, tissue: Tensor, usual: DensityReference) -> DensityReference:
    """Mean and spread over the tissue of each image; a little of the usual is mixed in."""
    prior = _PRIOR * density.shape[-1] * density.shape[-2]
    total = tissue.sum(dim=(2, 3), keepdim=True) + prior
    mean = ((tissue * density).sum(dim=(2, 3), keepdim=True) + prior * usual.mean) / total
    squares = (tissue * (density - mean).square()).sum(dim=(2, 3), keepdim=True)
    return DensityReference(mean, ((squares + prior * usual.spread.square()) / total).sqrt())


class StainMatch(nn.Module):  # type: ignore[misc]
    """Brings the optical densities of each image to those of one reference, colour by colour.

    Reinhard's transfer in the space of densities. It stands inside the tower, so that whoever
    runs the tower sees the same stain.
    """

    def __init__(self, usual: DensityReference) -> None:
        super().__init__()
        self.register_buffer("mean", usual.mean.view(3, 1, 1))
        self.register_buffer("spread", usual.spread.view(3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Normalised pixels in the stain of the reference."""
        density, tissue = density_of(pixels)
        usual = DensityReference(self.mean, self.spread)
        own = measured_density(density, tissue, usual)
        matched = (density - own.mean) * (self.spread / own.spread) + self.mean
        mean, std = (torch.tensor(v, device=pixels.device).view(3, 1, 1) for v in (MEAN, STD))
        return ((-matched.clamp(min=0.0)).exp() - mean) / std


class ImageTowerModel(nn.Module):  # type: ignore[misc]
    """Normalised pixels to vectors of length one: summary token and mean patch, projected."""

    def __init__(
        self,
        trunk: VisionTransformer,
        dimension: int = DIMENSION,
        stain: StainMatch | None = None,
    ) -> None:
        super().__init__()
        self.stain = stain
        self.trunk = trunk
        self.norm = nn.LayerNorm(2 * trunk.width, elementwise_affine=False)
        self.projection = nn.Linear(2 * trunk.width, dimension)

    def features(self, pixels: Tensor) -> Tensor:
        """What the trunk sees in an image, before the projection."""
        tokens = self.trunk(pixels if self.stain is None else self.stain(pixels))
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


KEPT_EVERY = 250
"""Steps between two checkpoints of the text tower."""


@dataclass(frozen=True, slots=True)
class Distillation:
    """How the few layers learn from the aligner."""

    steps: int = 3000
    batch: int = 512
    rate: float = 5e-4
    warm_up: float = 0.05
    seed: int = 1


class PhraseTower(nn.Module):  # type: ignore[misc]
    """Phrases of the same length, of which nothing is padding, to vectors and meanings."""

    def __init__(self, meaning: Any, head: PhraseHead) -> None:
        super().__init__()
        self.meaning = meaning
        self.head = head

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """The vector in the space of images, and the meaning; both of length one."""
        meaning = self.meaning(tokens, torch.ones_like(tokens))
        return self.head(meaning), meaning


def padded(rows: Sequence[Sequence[int]], padding: int = 0) -> npt.NDArray[np.int64]:
    """Rows of tokens, filled up to the longest."""
    table = np.full((len(rows), max(map(len, rows))), padding, np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def distil(
    student: Any,
    rows: Sequence[Sequence[int]],
    places: Callable[[Sequence[int]], Tensor],
    how: Distillation,
    stage: TrainingStage | None = None,
) -> float:
    """Train the student (tokens, mask to unit vectors) to put names where the teacher does.

    `places` gives the teacher's vectors of some rows. The mean cosine between both over the last
    hundred steps comes back. With a stage a stopped run resumes.
    """
    device = next(student.parameters()).device
    near: list[float] = []
    torch.manual_seed(how.seed)

    def batches(taken: int) -> Iterator[list[int]]:
        """Rows drawn at random, the same for the same seed."""
        draws = np.random.default_rng(how.seed)
        size = min(how.batch, len(rows))
        drawn = (draws.choice(len(rows), size, replace=False).tolist() for _ in range(how.steps))
        return islice(drawn, taken, None)

    def loss(chosen: list[int]) -> Tensor:
        """How far the vectors, and the cosines between them, are from those of the teacher."""
        some, wanted = [rows[i] for i in chosen], places(chosen).to(device)
        tokens = torch.from_numpy(padded(some)).to(device)
        mask = torch.from_numpy(_mask([len(row) for row in some])).to(device)
        with torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda"):
            given = student(tokens, mask)
        cosines = (given * wanted).sum(dim=-1)
        near.append(float(cosines.detach().mean()))
        apart = (given @ given.T - wanted @ wanted.T).square().mean()
        return (1 - cosines).mean() + 10 * apart

    plan = StepPlan(
        how.steps,
        lambda step: cosine_share(step, how.steps, how.warm_up),
        keep_every=KEPT_EVERY,
        history=near,
    )
    groups = [{"params": list(student.parameters()), "lr": how.rate}]
    take_steps(student, groups, batches, loss, plan, stage or TrainingStage())
    return float(np.mean(near[-100:])) if near else math.nan


def _mask(lengths: Sequence[int]) -> npt.NDArray[np.int64]:
    places = np.arange(max(lengths))
    return np.asarray(places[None] < np.array(lengths)[:, None], np.int64)
