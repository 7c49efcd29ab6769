"""The vision transformer, how start weights get into it, and views of tiles."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from histoeval.errors import ModelError
from histoeval_research.train.grounding.config import AugmentationSettings
from histoeval_research.train.grounding.learn import normalised, view
from histoeval_research.train.grounding.model import EPSILON, GRID, trunk_from_onnx
from tests.support.tiny_tiles import WIDTH, write_trunk

pytestmark = pytest.mark.heavy


def normal(x: Any, weight: Any, bias: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt(x.var(axis=-1, keepdims=True) + EPSILON) * weight + bias


def restated(named: dict[str, Any], pixels: Any) -> Any:
    """The same in plain numpy, for one picture and one block; the grid needs no resizing."""
    from math import erf

    place = "backbone.encoder.layer.0"
    given = {name.removeprefix(f"{place}."): value for name, value in named.items()}
    blocks = pixels.reshape(3, GRID, 14, GRID, 14).transpose(1, 3, 0, 2, 4).reshape(GRID**2, -1)
    kernel = named["backbone.embeddings.patch_embeddings.projection.weight"].reshape(WIDTH, -1)
    x = blocks @ kernel.T + named["backbone.embeddings.patch_embeddings.projection.bias"]
    x = np.concatenate([named["backbone.embeddings.cls_token"][0], x])
    x = x + np.concatenate([named["onnx::Concat_1"][0], named["onnx::Reshape_2"][0]])
    matrices = [named[f"onnx::MatMul_{number}"] for number in range(6)]
    y = normal(x, given["norm1.weight"], given["norm1.bias"])
    key, value, query = (
        (y @ matrices[i] + given[f"attention.attention.{name}.bias"]).reshape(-1, 6, WIDTH // 6)
        for i, name in enumerate(("key", "value", "query"))
    )
    odds = np.einsum("ihd,jhd->hij", query, key) / np.sqrt(WIDTH / 6)
    shares = np.exp(odds - odds.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    mixed = np.einsum("hij,jhd->ihd", shares, value).reshape(-1, WIDTH)
    added = mixed @ matrices[3] + given["attention.output.dense.bias"]
    x = x + given["layer_scale1.lambda1"] * added
    y = normal(x, given["norm2.weight"], given["norm2.bias"])
    wide = y @ matrices[4] + given["mlp.fc1.bias"]
    wide = wide * 0.5 * (1 + np.vectorize(erf)(wide / np.sqrt(2)))
    x = x + given["layer_scale2.lambda1"] * (wide @ matrices[5] + given["mlp.fc2.bias"])
    return normal(x, named["backbone.layernorm.weight"], named["backbone.layernorm.bias"])


def test_a_trunk_read_from_onnx_gives_what_its_tensors_say(tmp_path: Path) -> None:
    named = write_trunk(tmp_path / "trunk.onnx")
    trunk = trunk_from_onnx(tmp_path / "trunk.onnx").eval()
    pixels = np.random.default_rng(0).normal(0, 1, (3, 224, 224)).astype(np.float32)
    with torch.no_grad():
        found = trunk(torch.from_numpy(pixels)[None])[0].numpy()
    assert np.abs(found - restated(named, pixels.astype(np.float64))).max() < 1e-3


def test_another_graph_is_refused(tmp_path: Path) -> None:
    import onnx

    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "x", [], [])), tmp_path / "x.onnx")
    with pytest.raises(ModelError, match="vision transformer"):
        trunk_from_onnx(tmp_path / "x.onnx")


def test_views_follow_their_draws_and_keep_their_size() -> None:
    tiles = torch.randint(0, 255, (3, 3, 224, 224), dtype=torch.uint8)
    first, again, other = (
        view(tiles, AugmentationSettings(), torch.Generator().manual_seed(seed))
        for seed in (1, 1, 2)
    )
    assert first.shape == (3, 3, 224, 224)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_a_view_without_changes_is_the_tile_mirrored_or_turned() -> None:
    plain = AugmentationSettings(stain=0.0, light=0.0, smallest=1.0, blurred=0.0, grey=0.0)
    tiles = torch.full((2, 3, 224, 224), 90, dtype=torch.uint8)
    found = view(tiles, plain, torch.Generator().manual_seed(0))
    assert (found - normalised(tiles.float() / 255)).abs().mean() < 0.1, "only noise is added"
