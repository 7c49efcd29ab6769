"""The joint reader as it is shipped: onnxruntime and tokenizers, no network, no torch on a CPU."""

from collections.abc import Sequence
from pathlib import Path

from histoeval.reader.manifest import ENCODER, LINKER, TOKENIZER, Manifest
from histoeval.reader.questions import Encode, Encoded, JointModel, Relate
from histoeval.reader.tagging import Floats
from histoeval.reader.windowed import WindowedReader
from histoeval.resources import resource_path
from histoeval.runtime.onnx import on_cpu, on_gpu, open_session, open_tokenizer, runner
from histoeval.runtime.shared_device import Remote, is_connected


class BuiltinReader(WindowedReader):
    """Reads with a joint reader from a folder; the shipped one when none is named."""

    concurrent = True  # several threads may call it at once
    dtype = "int8"  # how its weights are stored; it computes in float32

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/reader")
        manifest = Manifest.read(home)
        tokenizer = open_tokenizer(home / TOKENIZER)
        super().__init__(manifest, tokenizer, open_engine(home, device), threads)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)

    @property
    def identity(self) -> str:
        return f"{self.manifest.identity}/{self._runner}"


def open_engine(home: Path, device: str | None) -> JointModel:
    """The engine of a model folder: in a worker, the process that owns the device."""
    if on_cpu(device):
        return OnnxEngine(home)
    if is_connected():
        return RemoteEngine(Remote(open_engine, home, device))
    encoder, linker = (open_session(home / part, device) for part in (ENCODER, LINKER))
    from histoeval.reader.device_engine import DeviceEngine

    return DeviceEngine(encoder, linker, made_by=(open_engine, (home, device)))


class OnnxEngine:
    """Both halves of the model as ONNX sessions of one thread each; several may call at once."""

    takes_many = False

    def __init__(self, folder: Path) -> None:
        self._encoder = open_session(folder / ENCODER)
        self._linker = open_session(folder / LINKER)

    def encode_all(self, questions: Sequence[Encode]) -> list[Encoded]:
        return [tuple(self._encoder.run(None, question._asdict())) for question in questions]

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        return [self._linker.run(None, question._asdict())[0] for question in questions]


class RemoteEngine:
    """The model on a device that another process owns; encoded tokens are handles."""

    takes_many = True

    def __init__(self, remote: Remote) -> None:
        self._remote = remote

    def encode_all(self, questions: Sequence[Encode]) -> list[Encoded]:
        return self._remote.ask("encode_all", questions)

    def relate_all(self, questions: Sequence[Relate]) -> list[Floats]:
        return self._remote.ask("relate_all", questions)
