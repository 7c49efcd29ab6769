"""NLI models by what people call them."""

from __future__ import annotations

from pathlib import Path

from histoeval.trust.entailment import Entailer, Entails
from histoeval.trust.manifest import MANIFEST

BUILTIN = "builtin"


def open_entailer(spec: str | Path | None = None, device: str | None = None) -> Entails:
    """An NLI model: the shipped one, a folder that `train nli` wrote, or a Transformers model."""
    if spec is None or spec == BUILTIN:
        return Entailer()
    if Path(spec, MANIFEST).is_file():
        return Entailer(Path(spec))
    from histoeval.extract.transformer import Runtime  # noqa: PLC0415 - needs [hf]
    from histoeval.trust.huggingface import HuggingFaceEntailer  # noqa: PLC0415

    return HuggingFaceEntailer(spec, Runtime(device))
