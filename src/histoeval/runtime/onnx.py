"""What the shipped models run on: an ONNX session of one thread, and a tokenizer."""

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


def open_session(path: Path) -> Any:
    """A session of one thread; several threads may call it at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common base for what it raises
        raise ModelError(f"{path} cannot be loaded: {error}") from error
