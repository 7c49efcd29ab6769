"""A trained NLI model as the folder that is shipped: ONNX with int8 weights, no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from histoeval.nli.manifest import limits_of, read_entailer_manifest, write_entailer_manifest
from histoeval.reader.manifest import ENCODER
from histoeval_research.train.core.onnx_int8 import token_part, write_parts
from histoeval_research.train.nli.model import CrossEncoder


class _Unpadded(nn.Module):  # type: ignore[misc]
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
    """Write what `BuiltinEntailer` loads."""
    part = token_part(_Unpadded(model), tokens, ["logits"], "kinds")
    files = write_parts(folder, {ENCODER: part}, tokenizer, rounded)
    limits = limits_of(name, tokens)
    write_entailer_manifest(
        folder, limits.model_copy(update={"files": files, "details": dict(details)})
    )


def add_opinion(folder: Path) -> None:
    """Fit the second opinion to the model of a folder, and write it to its manifest."""
    from histoeval.nli.builtin import BuiltinEntailer
    from histoeval_research.train.nli.reranker import fit_opinion, unlearned_pairs

    manifest = read_entailer_manifest(folder).model_copy(update={"opinion": None})
    write_entailer_manifest(folder, manifest)
    opinion = fit_opinion(BuiltinEntailer(folder), list(unlearned_pairs()))
    write_entailer_manifest(folder, manifest.model_copy(update={"opinion": opinion}))
