"""Runtime of the shipped models: an ONNX session of one thread or a device, and a tokenizer."""

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from numpy.typing import NDArray

from histoeval.errors import MissingDependency, ModelError, pip_install
from histoeval.runtime.batching import Tokens, alike, batches, padded
from histoeval.runtime.memo import return_freed_memory
from histoeval.runtime.shared_device import Remote, is_connected
from histoeval.runtime.threads import cores


def open_tokenizer(path: Path) -> Any:
    """A tokenizer that neither pads nor cuts, and reads special tokens in a text as words."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


def on_cpu(device: str | None) -> bool:
    return device is None or device == "cpu"


def on_gpu(device: str | None) -> bool:
    return device is not None and device.startswith("cuda")


def runner(device: str | None) -> str:
    """The library that runs a shipped model, for its identity: numbers differ slightly."""
    if on_cpu(device):
        return f"onnxruntime{version('onnxruntime')}"
    build = version("torch").partition("+")[0]  # "+cpu" and "+cu130" say where it was got from
    return f"torch{build}-{str(device).partition(':')[0]}"


def open_session(path: Path, device: str | None = None) -> Any:
    """A session of onnxruntime on the CPU, or one with the same `run` on another device."""
    if on_cpu(device):
        return Session(path)
    if absent := [name for name in ("torch", "onnx") if find_spec(name) is None]:
        raise MissingDependency(
            f"{' and '.join(absent)} not installed: builtin models on {device} need the extra "
            f"[hf]; run: {pip_install('hf')}, or leave out the device"
        )
    from histoeval.runtime.torch_graph import TorchSession
    from histoeval.runtime.transformer import choose_device

    return TorchSession(path, choose_device(device))


class Session:
    """A session of one thread, opened when it is first run; several threads may call it at once.

    Pickled, it is the path of its file: a process that only sends it to others never opens it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = Lock()
        self._session: Any = None

    def __reduce__(self) -> tuple[type["Session"], tuple[Path]]:
        return Session, (self.path,)

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        with self._lock:
            self._session = self._session or self._open()
        outputs: list[Any] = self._session.run(names, inputs)
        return outputs

    def _open(self) -> Any:
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # it is sent from a thread of its own
        import onnxruntime

        onnxruntime.disable_telemetry_events()  # where somebody has imported it before
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # it is no faster here, and keeps tens of megabytes
        try:
            session = onnxruntime.InferenceSession(
                str(self.path), options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has no common base for what it raises
            raise ModelError(f"{self.path} cannot be loaded: {error}") from error
        return_freed_memory()  # 100 to 200 MB a model, as much as it takes when it is open
        return session


Rows: TypeAlias = tuple[NDArray[Any], ...]
Text: TypeAlias = tuple[Tokens, ...]
_TOKENS = 32_768  # tokens that are run at once, those of padding counted in


class TokenRows:
    """Runs a graph on many texts, each of which is a sequence of tokens for each input.

    Another device than a CPU runs many together; in a worker process it is the process that owns
    the device which does so. On a CPU what is run together has equal length, so that the rows of a
    text are the same to the bit whatever it is run with. For that no short text is run alone but
    beside itself: a batch of one takes another way through onnxruntime, which rounds otherwise.

    It takes the path of the graph, the names of its inputs, the device and, for a CPU (the
    default), the number of threads, and of texts that are run together.
    """

    def __init__(
        self,
        path: Path,
        inputs: tuple[str, ...],
        device: str | None = None,
        threads: int | None = None,
        most: int = 1,
    ) -> None:
        self._made_from = path, inputs, device, threads, most
        self._inputs = inputs
        self._threads = threads
        self._most = most
        self._on_cpu = on_cpu(device)
        is_worker = is_connected() and not self._on_cpu
        self._remote = Remote(TokenRows, *self._made_from) if is_worker else None
        self._session: Any = None if is_worker else open_session(path, device)

    def rows(self, texts: Sequence[Text]) -> list[Rows]:
        if self._remote is not None:
            return self._remote.ask("rows", texts)
        return self._of_equal_length(texts) if self._on_cpu else self._together(texts)

    def __reduce__(self) -> tuple[Any, ...]:
        return TokenRows, self._made_from

    def _of_equal_length(self, texts: Sequence[Text]) -> list[Rows]:
        def run(group: Sequence[int]) -> list[Rows]:
            group_texts = [texts[position] for position in group]
            if len(group_texts) < min(self._most, 2):
                group_texts *= 2
            outputs = self._session.run(None, self._named([*zip(*group_texts, strict=True)]))
            return [*zip(*outputs, strict=True)][: len(group)]

        groups = alike([len(text[0]) for text in texts], self._most)
        threads = self._threads or cores()
        if len(groups) == 1 or threads == 1:
            outputs = [run(group) for group in groups]
        else:
            with ThreadPoolExecutor(threads) as pool:
                outputs = list(pool.map(run, groups))
        rows = dict(zip(chain(*groups), chain(*outputs), strict=True))
        return [rows[position] for position in range(len(texts))]

    def _together(self, texts: Sequence[Text]) -> list[Rows]:
        rows: dict[int, Rows] = {}
        for group in batches([len(text[0]) for text in texts], _TOKENS):
            columns = zip(*(texts[position] for position in group), strict=True)
            lengths = [len(texts[position][0]) for position in group]
            outputs = self._session.start(self._named([*columns]), lengths)
            arrays = (output.cpu().numpy() for output in outputs.values())
            rows |= zip(group, zip(*arrays, strict=True), strict=True)
        return [rows[position] for position in range(len(texts))]

    def _named(self, columns: Sequence[Sequence[Tokens]]) -> dict[str, Any]:
        return dict(zip(self._inputs, map(padded, columns), strict=True))
