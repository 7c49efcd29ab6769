"""The two towers of a grounding model, images and phrases into one space, on a vision transformer.

The starting weights come from a package that installs by name and holds a DINOv2-S trunk inside an
ONNX graph (with a saliency head that is of no use here). The trunk's tensors are read from the
graph's initialisers, so nothing but `onnx` is needed to open them. The module is our own, because
the names of weights in that of Transformers change with its versions, and it is written for one
size of image, 224 pixels: the position table is resized once, at loading, which keeps the exported
graph free of resizing.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from histoeval.errors import ModelError
from histoeval.evaluate.tile_labels import SIDE
from histoeval_research.train.aligner.train import Embedder

PATCH = 14
GRID = SIDE // PATCH
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
EPSILON = 1e-6
DIMENSION = 256
_HIDDEN = 512

# The matrices of a block in the order in which the graph multiplies by them.
LINEARS = ("attention.key", "attention.value", "attention.query", "attention.output", "fc1", "fc2")

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

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        query, key, value = (
            part(x).view(shape).transpose(1, 2) for part in (self.query, self.key, self.value)
        )
        mixed = nn.functional.scaled_dot_product_attention(query, key, value)
        out: Tensor = self.output(mixed.transpose(1, 2).reshape(batch, length, width))
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

    def forward(self, x: Tensor) -> Tensor:
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

    def forward(self, pixels: Tensor) -> Tensor:
        x = self.patches(pixels).flatten(2).transpose(1, 2)
        x = torch.cat([self.summary.expand(len(x), -1, -1), x], dim=1) + self.positions
        for block in self.blocks:
            x = block(x)
        tokens: Tensor = self.norm(x)
        return tokens


def trunk_from_onnx(path: Path) -> VisionTransformer:
    import onnx
    from onnx import numpy_helper

    tensors = {
        tensor.name: torch.from_numpy(np.array(numpy_helper.to_array(tensor), dtype=np.float32))
        for tensor in onnx.load(str(path)).graph.initializer
    }
    matrices = [value for name, value in tensors.items() if name.startswith("onnx::MatMul")]
    tables = [v for n, v in tensors.items() if n.startswith("onnx::") and v.ndim == 3]
    if len(matrices) % len(LINEARS) or len(tables) != 2:
        raise ModelError(f"{path} does not hold the vision transformer this reads")
    depth = len(matrices) // len(LINEARS)
    summary, patches = tables
    side = round(patches.shape[1] ** 0.5)
    square = patches.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    resized = nn.functional.interpolate(square, size=(GRID, GRID), mode="bicubic")
    positions = resized.permute(0, 2, 3, 1).reshape(1, GRID * GRID, -1)
    state = {
        "patches.weight": tensors["backbone.embeddings.patch_embeddings.projection.weight"],
        "patches.bias": tensors["backbone.embeddings.patch_embeddings.projection.bias"],
        "summary": tensors["backbone.embeddings.cls_token"],
        "positions": torch.cat([summary, positions], dim=1),
        "norm.weight": tensors["backbone.layernorm.weight"],
        "norm.bias": tensors["backbone.layernorm.bias"],
    }
    for layer in range(depth):
        for ours, theirs in PER_BLOCK.items():
            state[f"blocks.{layer}.{ours}"] = tensors[f"backbone.encoder.layer.{layer}.{theirs}"]
        for ours, matrix in zip(LINEARS, matrices[6 * layer : 6 * layer + 6], strict=True):
            state[f"blocks.{layer}.{ours}.weight"] = matrix.T
    trunk = VisionTransformer(width=summary.shape[-1], depth=depth)
    trunk.load_state_dict(state)
    return trunk


_DARKEST = 1 / 255
# The mean optical density from which on a pixel counts as tissue, and how sharply.
_TISSUE, _SHARPNESS = 0.15, 20.0
# The share of an image that stands for the reference: glass has no stain to be measured.
_PRIOR = 0.02


class DensityReference(NamedTuple):
    """The mean and the spread of optical densities, one number for each colour."""

    mean: Tensor
    spread: Tensor


def colour_scale(device: torch.device) -> tuple[Tensor, Tensor]:
    mean, std = (torch.tensor(values, device=device).view(3, 1, 1) for values in (MEAN, STD))
    return mean, std


def density_of(pixels: Tensor) -> tuple[Tensor, Tensor]:
    """Optical densities of normalised pixels, and how much each pixel is tissue."""
    mean, std = colour_scale(pixels.device)
    density = -(pixels.float() * std + mean).clamp(_DARKEST, 1.0).log()
    tissue = torch.sigmoid((density.mean(dim=1, keepdim=True) - _TISSUE) * _SHARPNESS)
    return density, tissue


def measured_density(density: Tensor, tissue: Tensor, usual: DensityReference) -> DensityReference:
    prior = _PRIOR * density.shape[-1] * density.shape[-2]
    total = tissue.sum(dim=(2, 3), keepdim=True) + prior
    mean = ((tissue * density).sum(dim=(2, 3), keepdim=True) + prior * usual.mean) / total
    squares = (tissue * (density - mean).square()).sum(dim=(2, 3), keepdim=True)
    return DensityReference(mean, ((squares + prior * usual.spread.square()) / total).sqrt())


class StainMatch(nn.Module):  # type: ignore[misc]
    """Brings the optical densities of each image to those of one reference, colour by colour."""

    # Reinhard's transfer in the space of densities. It stands inside the tower, so that whoever
    # runs the tower sees the same stain.

    def __init__(self, usual: DensityReference) -> None:
        super().__init__()
        self.register_buffer("mean", usual.mean.view(3, 1, 1))
        self.register_buffer("spread", usual.spread.view(3, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        density, tissue = density_of(pixels)
        own = measured_density(density, tissue, DensityReference(self.mean, self.spread))
        matched = (density - own.mean) * (self.spread / own.spread) + self.mean
        mean, std = colour_scale(pixels.device)
        return ((-matched.clamp(min=0.0)).exp() - mean) / std


class ImageTowerModel(nn.Module):  # type: ignore[misc]
    """Normalised pixels to vectors of length one: summary token and mean patch, projected."""

    def __init__(
        self, trunk: VisionTransformer, dimension: int = DIMENSION, stain: StainMatch | None = None
    ) -> None:
        super().__init__()
        self.stain = stain
        self.trunk = trunk
        self.norm = nn.LayerNorm(2 * trunk.width, elementwise_affine=False)
        self.projection = nn.Linear(2 * trunk.width, dimension)

    def features(self, pixels: Tensor) -> Tensor:
        tokens = self.trunk(pixels if self.stain is None else self.stain(pixels))
        return torch.cat([tokens[:, 0], tokens[:, 1:].mean(dim=1)], dim=-1)

    def forward(self, pixels: Tensor) -> Tensor:
        features = self.norm(self.features(pixels))
        return nn.functional.normalize(self.projection(features).float(), dim=-1)


class PhraseHead(nn.Module):  # type: ignore[misc]
    """Vectors of an encoder of phrases to vectors of length one in the space of the images."""

    def __init__(self, width: int, dimension: int = DIMENSION) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(width, _HIDDEN), nn.GELU(), nn.Linear(_HIDDEN, dimension)
        )

    def forward(self, vectors: Tensor) -> Tensor:
        return nn.functional.normalize(self.layers(vectors).float(), dim=-1)


class PhraseTower(nn.Module):  # type: ignore[misc]
    """Phrases of the same length, of which nothing is padding, to vectors and meanings."""

    def __init__(self, meaning: Embedder, head: PhraseHead) -> None:
        super().__init__()
        self.meaning = meaning
        self.head = head

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        meaning = self.meaning(tokens, torch.ones_like(tokens))
        return self.head(meaning), meaning


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
        return self.scale.exp().clamp(max=30.0)
