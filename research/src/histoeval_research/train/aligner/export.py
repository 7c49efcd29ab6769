"""A trained aligner as the folder that is shipped: ONNX with int8 weights, no torch."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from histoeval.align.manifest import AlignerManifest, ChannelUse, write_aligner_manifest
from histoeval.align.opposites.vector import VERSION
from histoeval.reader.manifest import ENCODER
from histoeval_research.train.aligner.embedder import Embedder
from histoeval_research.train.core.onnx_int8 import Unpadded, token_part, write_parts


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
    """Write what `BuiltinAligner` loads.

    `channel` is the weight of the channel beside the vector of the encoder; at 0 there is none.
    """
    part = token_part(Unpadded(model), tokens, ["vectors"])
    manifest = AlignerManifest(
        name=name,
        files=write_parts(folder, {ENCODER: part}, tokenizer, rounded),
        size=int(model.encoder.config.hidden_size),
        tokens=tokens,
        channel=ChannelUse(version=VERSION, weight=channel) if channel else None,
        details=dict(details),
    )
    write_aligner_manifest(folder, manifest)
