"""The joint reader as it is shipped: onnxruntime and tokenizers, no torch and no network."""

from __future__ import annotations

import os
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from histoeval.errors import ModelError
from histoeval.extract.links import Integers
from histoeval.extract.manifest import ENCODER, LINKER, TOKENIZER, read_manifest
from histoeval.extract.tagset import Floats
from histoeval.extract.windowed import WindowedReader


class BuiltinReader(WindowedReader):
    """Reads with a joint reader from a folder; the shipped one when none is named."""

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        home = folder or Path(str(files("histoeval") / "models" / "reader"))
        manifest = read_manifest(home)
        tokenizer = _tokenizer(home / TOKENIZER)
        super().__init__(manifest, tokenizer, OnnxEngine(home), threads or _cores())

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/onnxruntime{version('onnxruntime')}"

    @property
    def dtype(self) -> str:
        """How its weights are stored; it computes in float32."""
        return "int8"


class OnnxEngine:
    """Both halves of the model as ONNX sessions of one thread each; several may call at once."""

    def __init__(self, folder: Path) -> None:
        self._encoder, self._linker = _session(folder / ENCODER), _session(folder / LINKER)

    def encode(self, tokens: Integers) -> tuple[Floats, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""
        encoded, tags, assertions = self._encoder.run(None, {"tokens": tokens})
        return encoded, tags, assertions

    def relate(self, **inputs: NDArray[Any]) -> Floats:
        """A logit for each pair of entities."""
        logits: Floats = self._linker.run(None, inputs)[0]
        return logits


def _cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _tokenizer(path: Path) -> Any:
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def _session(path: Path) -> Any:
    import onnxruntime  # noqa: PLC0415 - slow to import

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common base for what it raises
        raise ModelError(f"{path} cannot be loaded: {error}") from error
