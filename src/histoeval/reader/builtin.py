"""The joint reader as it is shipped: onnxruntime and tokenizers, no network, no torch on a CPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from histoeval.reader.links import Integers
from histoeval.reader.manifest import ENCODER, LINKER, TOKENIZER, read_manifest
from histoeval.reader.questions import Encode, JointModel, Relate
from histoeval.reader.tagging import Floats
from histoeval.reader.windowed import WindowedReader
from histoeval.resources import resource_path
from histoeval.runtime.onnx import on_cpu, on_gpu, open_session, open_tokenizer, runner
from histoeval.runtime.shared_device import Remote, is_connected


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
        super().__init__(manifest, tokenizer, open_engine(home, device), threads)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"{self.manifest.identity}/{self._runner}"

    @property
    def dtype(self) -> str:
        """How its weights are stored; it computes in float32."""
        return "int8"


def open_engine(home: Path, device: str | None) -> JointModel:
    """What runs the model of a folder: in a worker, the process that owns the device."""
    if on_cpu(device):
        return OnnxEngine(home)
    if is_connected():
        return RemoteEngine(Remote(open_engine, home, device))
    encoder, linker = (open_session(home / part, device) for part in (ENCODER, LINKER))
    from histoeval.reader.device_engine import DeviceEngine

    return DeviceEngine(encoder, linker, made_by=(open_engine, (home, device)))


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


class RemoteEngine:
    """The model on a device that another process owns."""

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def encode_all(self, questions: Sequence[Encode]) -> list[tuple[Any, Floats, Floats]]:
        """The answer to each question, with handles for encoded tokens."""
        return self._remote.ask("encode_all", questions)

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        """A logit for each pair of each question."""
        return self._remote.ask("relate_all", questions)

    def encode(self, tokens: Integers) -> tuple[Any, Floats, Floats]:
        """The answer to one question."""
        return self.encode_all([Encode(tokens)])[0]

    def relate(self, **inputs: Any) -> Floats:
        """A logit for each pair of entities."""
        return self.relate_all([Relate(**inputs)])[0]
