"""Opens an NLI model by its name."""

from pathlib import Path

from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import Entailer
from histoeval.nli.huggingface import HuggingFaceEntailer
from histoeval.nli.manifest import MANIFEST
from histoeval.runtime.transformer import Runtime

BUILTIN = "builtin"


def open_entailer(spec: str | Path | None = None, device: str | None = None) -> Entailer:
    """An NLI model: the shipped one, a folder that `train nli` wrote, or a Transformers model."""
    if spec is None or spec == BUILTIN:
        return BuiltinEntailer(device=device)
    if Path(spec, MANIFEST).is_file():
        return BuiltinEntailer(Path(spec), device=device)
    return HuggingFaceEntailer(spec, Runtime(device))
