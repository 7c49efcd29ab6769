"""A trained joint reader as the folder that is shipped: ONNX with int8 weights, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from histoeval.extract.links import CODES, KINDS, LEVELS
from histoeval.extract.manifest import ENCODER, LINKER, Manifest, write_manifest
from histoeval.extract.tagset import TAGS
from histoeval.train.core.onnx_int8 import OnnxPart, Unpadded, write_parts
from histoeval.train.reader.model import JointReader


class _Link(nn.Module):  # type: ignore[misc]
    """The pairs of one text of which nothing is padding."""

    def __init__(self, model: JointReader) -> None:
        super().__init__()
        self.linker = model.linker

    def forward(
        self,
        encoded: Tensor,
        tags: Tensor,
        entities: Tensor,
        pairs: Tensor,
        kinds: Tensor,
        codes: Tensor,
    ) -> Tensor:
        """Scores of pairs from what the first pass has found."""
        mask = torch.ones_like(tags)
        return self.linker(encoded, mask, tags, entities, pairs, kinds, codes)


def write_reader(
    model: JointReader,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    details: Mapping[str, Any],
    rounded: bool = True,
) -> None:
    """Write what `BuiltinReader` loads."""
    length = torch.export.Dim("length", min=2, max=_positions(model))
    encoder = OnnxPart(
        Unpadded(model.eval()),
        {"tokens": torch.randint(5, 50, (1, 12))},
        {"tokens": {1: length}},
        ["encoded", "tags", "assertions"],
    )
    parts = {ENCODER: encoder, LINKER: _linker(model)}
    files = write_parts(folder, parts, tokenizer, rounded)
    write_manifest(folder, Manifest(name=name, files=files, details=dict(details)))


def _linker(model: JointReader) -> OnnxPart:
    length = torch.export.Dim("length", min=2, max=_positions(model))
    entities, pairs = torch.export.Dim("entities", min=2), torch.export.Dim("pairs", min=1)
    size = int(model.encoder.config.hidden_size)
    example = {
        "encoded": torch.zeros(1, 12, size),
        "tags": torch.randint(len(TAGS), (1, 12)),
        "entities": torch.tensor([[0, 1, 2], [0, 4, 4], [0, 7, 9]]),
        "pairs": torch.tensor([[0, 1], [2, 1], [0, 2], [1, 0]]),
        "kinds": torch.randint(len(KINDS), (4,)),
        "codes": torch.randint(LEVELS, (4, CODES)),
    }
    shapes = {
        "encoded": {1: length},
        "tags": {1: length},
        "entities": {0: entities},
        "pairs": {0: pairs},
        "kinds": {0: pairs},
        "codes": {0: pairs},
    }
    return OnnxPart(_Link(model), example, shapes, ["related"])


def _positions(model: JointReader) -> int:
    return int(getattr(model.encoder.config, "max_position_embeddings", 512)) - 2
