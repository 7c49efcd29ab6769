"""What the shipped models run on: an ONNX session of one thread or a device, and a tokenizer."""

import os
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from histoeval.errors import MissingDependency, ModelError, pip_install
from histoeval.runtime.memo import return_freed_memory


def open_tokenizer(path: Path) -> Any:
    """A tokenizer that neither pads nor cuts, and reads special tokens in a text as words."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def on_cpu(device: str | None) -> bool:
    """Whether onnxruntime runs the shipped models: on the CPU, which is also the default."""
    return device is None or device == "cpu"


def on_gpu(device: str | None) -> bool:
    """Whether a device is a GPU, which several processes share."""
    return device is not None and device.startswith("cuda")


def runner(device: str | None) -> str:
    """What runs a shipped model, for its identity: its numbers differ a little on each."""
    if on_cpu(device):
        return f"onnxruntime{version('onnxruntime')}"
    build = version("torch").partition("+")[0]  # "+cpu" and "+cu130" say where it was got from
    return f"torch{build}-{str(device).partition(':')[0]}"


def open_session(path: Path, device: str | None = None) -> Any:
    """A session of onnxruntime on the CPU, or one with the same `run` on another device."""
    return Session(path) if on_cpu(device) else _open_on_device(path, str(device))


class Session:
    """A session of one thread, opened when it is first run; several threads may call it at once.

    Pickled, it is the path of its file: a process that only sends it to others never opens it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._session: Any = None

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """The outputs of these names, or all."""
        with self._lock:
            self._session = self._session or _open(self.path)
        outputs: list[Any] = self._session.run(names, inputs)
        return outputs

    def __reduce__(self) -> tuple[type["Session"], tuple[Path]]:
        return Session, (self.path,)


def _onnxruntime() -> Any:
    """The library, which would otherwise send usage data to its maker, from a thread of its own."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # where somebody has imported it before
    return onnxruntime


def _open(path: Path) -> Any:
    onnxruntime = _onnxruntime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # it is no faster here, and keeps tens of megabytes
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # onnxruntime has no common base for what it raises
        raise ModelError(f"{path} cannot be loaded: {error}") from error
    return_freed_memory()  # 100 to 200 MB a model, as much as it takes when it is open
    return session


def _open_on_device(path: Path, device: str) -> Any:
    if absent := [name for name in ("torch", "onnx") if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: builtin models on {device} need the extra "
            f"[hf]; run: {pip_install('hf')}, or leave out the device"
        )
    from histoeval.runtime.torch_graph import TorchSession
    from histoeval.runtime.transformer import choose_device

    return TorchSession(path, choose_device(device))
