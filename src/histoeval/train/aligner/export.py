"""A trained aligner as the folder that is shipped: ONNX with int8 weights, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from histoeval.align.manifest import AlignerManifest, ChannelUse, write_aligner_manifest
from histoeval.align.opposites.vector import VERSION
from histoeval.extract.manifest import ENCODER, TOKENIZER, hash_of
from histoeval.train.aligner.embedder import Embedder
from histoeval.train.core.onnx_int8 import exported, write_graph


class _Embed(nn.Module):  # type: ignore[misc]
    """Phrases of the same length, of which nothing is padding."""

    def __init__(self, model: Embedder) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor) -> Tensor:
        """Vectors of rows that are all of one length, so that no mask is needed."""
        vectors: Tensor = self.model(tokens, torch.ones_like(tokens))
        return vectors


def write_aligner(
    model: Embedder,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    tokens: int,
    details: Mapping[str, Any],
    channel: float = 0.0,
    rounded: bool = True,
) -> None:
    """Write what `BuiltinAligner` loads; not rounded, it is four times as large.

    `channel` is the weight of the channel beside the vector of the encoder; at 0 there is none.
    """
    model = model.float().cpu().eval()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    write_graph(_graph(model, tokens), folder / ENCODER, rounded)
    manifest = AlignerManifest(
        name=name,
        files={file: hash_of(folder / file) for file in (ENCODER, TOKENIZER)},
        size=int(model.encoder.config.hidden_size),
        tokens=tokens,
        channel=ChannelUse(version=VERSION, weight=channel) if channel else None,
        details=dict(details),
    )
    write_aligner_manifest(folder, manifest)


def _graph(model: Embedder, tokens: int) -> Any:
    count = torch.export.Dim("count", min=1, max=1024)
    length = torch.export.Dim("length", min=2, max=tokens)
    return exported(
        _Embed(model),
        {"tokens": torch.randint(5, 50, (3, 7))},
        {"tokens": {0: count, 1: length}},
        ["vectors"],
    )
