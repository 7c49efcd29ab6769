"""NLI models by what people call them."""

from __future__ import annotations

from pathlib import Path

from histoeval.nli.entailer import Entailer, Entails
from histoeval.nli.manifest import MANIFEST

BUILTIN = "builtin"


def open_entailer(spec: str | Path | None = None, device: str | None = None) -> Entails:
    """An NLI model: the shipped one, a folder that `train nli` wrote, or a Transformers model."""
    if spec is None or spec == BUILTIN:
        return Entailer()
    if Path(spec, MANIFEST).is_file():
        return Entailer(Path(spec))
    from histoeval.nli.huggingface import HuggingFaceEntailer
    from histoeval.runtime.transformer import Runtime

    return HuggingFaceEntailer(spec, Runtime(device))
