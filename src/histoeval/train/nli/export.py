"""A trained NLI model as the folder that is shipped: ONNX with int8 weights, no torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from histoeval.extract.manifest import ENCODER, TOKENIZER, hash_of
from histoeval.nli.manifest import limits_of, read_entailer_manifest, write_entailer_manifest
from histoeval.train.core.onnx_int8 import exported, write_graph
from histoeval.train.nli.model import CrossEncoder


class _Judge(nn.Module):  # type: ignore[misc]
    """Pairs of the same length, of which nothing is padding."""

    def __init__(self, model: CrossEncoder) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: Tensor, kinds: Tensor) -> Tensor:
        logits: Tensor = self.model(tokens, kinds, torch.ones_like(tokens))
        return logits


def write_entailer(
    model: CrossEncoder,
    tokenizer: Any,
    folder: Path,
    *,
    name: str,
    tokens: int,
    details: Mapping[str, Any],
    rounded: bool = True,
) -> None:
    """Write what `BuiltinEntailer` loads; not rounded, it is four times as large."""
    model = model.float().cpu().eval()
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / TOKENIZER), pretty=False)
    write_graph(_graph(model, tokens), folder / ENCODER, rounded)
    files = {file: hash_of(folder / file) for file in (ENCODER, TOKENIZER)}
    limits = limits_of(name, tokens)
    write_entailer_manifest(
        folder, limits.model_copy(update={"files": files, "details": dict(details)})
    )


def _graph(model: CrossEncoder, tokens: int) -> Any:
    count = torch.export.Dim("count", min=1, max=1024)
    length = torch.export.Dim("length", min=2, max=tokens)
    shape = {0: count, 1: length}
    example = torch.randint(5, 50, (3, 7))
    return exported(
        _Judge(model),
        {"tokens": example, "kinds": (example > 25).long()},
        {"tokens": shape, "kinds": shape},
        ["logits"],
    )


def add_opinion(folder: Path) -> None:
    """Fit the second opinion to the model of a folder, and write it to its manifest."""
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval.train.nli.reranker import fit_opinion, unlearned_pairs

    manifest = read_entailer_manifest(folder).model_copy(update={"opinion": None})
    write_entailer_manifest(folder, manifest)
    opinion = fit_opinion(BuiltinEntailer(folder), list(unlearned_pairs()))
    write_entailer_manifest(folder, manifest.model_copy(update={"opinion": opinion}))
