"""What the shipped models run on: an ONNX session of one thread, and a tokenizer."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import ModelError


def open_tokenizer(path: Path) -> Any:
    """A tokenizer that neither pads nor cuts, and reads special tokens in a text as words."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True
    return tokenizer


class Session:
    """A session of one thread; several threads may call it at once.

    Pickled, it is the path of its file, and is opened again where it is unpickled.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._session = _open(path)

    def run(self, names: Sequence[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """The outputs of these names, or all."""
        outputs: list[Any] = self._session.run(names, inputs)
        return outputs

    def __reduce__(self) -> tuple[type["Session"], tuple[Path]]:
        return Session, (self.path,)


def _open(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common base for what it raises
        raise ModelError(f"{path} cannot be loaded: {error}") from error
