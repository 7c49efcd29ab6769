"""The joint reader as it is shipped: onnxruntime and tokenizers, no network, no torch on a CPU."""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from histoeval.reader.links import Integers
from histoeval.reader.manifest import ENCODER, LINKER, TOKENIZER, read_manifest
from histoeval.reader.questions import JointModel
from histoeval.reader.tagset import Floats
from histoeval.reader.windowed import WindowedReader
from histoeval.resources import resource_path
from histoeval.runtime.onnx import on_cpu, on_gpu, open_session, open_tokenizer, runner


class BuiltinReader(WindowedReader):
    """Reads with a joint reader from a folder; the shipped one when none is named."""

    concurrent = True
    """Several threads may call it at once."""

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/reader")
        manifest = read_manifest(home)
        tokenizer = open_tokenizer(home / TOKENIZER)
        engine: JointModel = (
            OnnxEngine(home) if on_cpu(device) else _device_engine(home, str(device))
        )
        super().__init__(manifest, tokenizer, engine, threads)
        self._runner = runner(device)
        self.on_gpu = on_gpu(device)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/{self._runner}"

    @property
    def dtype(self) -> str:
        """How its weights are stored; it computes in float32."""
        return "int8"


def _device_engine(home: Path, device: str) -> JointModel:
    sessions = [open_session(home / part, device) for part in (ENCODER, LINKER)]
    from histoeval.reader.device_engine import DeviceEngine

    return DeviceEngine(*sessions)


class OnnxEngine:
    """Both halves of the model as ONNX sessions of one thread each; several may call at once."""

    def __init__(self, folder: Path) -> None:
        self._encoder = open_session(folder / ENCODER)
        self._linker = open_session(folder / LINKER)

    def encode(self, tokens: Integers) -> tuple[Floats, Floats, Floats]:
        """Encoded tokens, and logits of their tags and of their assertions."""
        encoded, tags, assertions = self._encoder.run(None, {"tokens": tokens})
        return encoded, tags, assertions

    def relate(self, **inputs: NDArray[Any]) -> Floats:
        """A logit for each pair of entities."""
        logits: Floats = self._linker.run(None, inputs)[0]
        return logits
