"""The shipped reader's encoder as an encoder of tokens, so that BERTScore runs with nothing else.

It is no roberta-large: a small encoder that was trained to read pathology reports. Numbers made
with it are named after it, and are not those of other papers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from histoeval.reader.manifest import ENCODER, TOKENIZER, read_manifest
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import Session, open_tokenizer

NAME = "builtin"
_MAX_CACHED = 2_000


@dataclass(frozen=True)
class States:
    """A text as the encoder sees it: a row per token, which are special, the share it saw."""

    states: NDArray[np.float32]
    special: NDArray[np.bool_]
    seen: float


class ReaderStates:
    """Token states of the shipped reader; of a long text its first window is seen."""

    def __init__(self) -> None:
        home = resource_path("models/reader")
        self._manifest = read_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = Session(home / ENCODER)
        self._cached = Memory(self._encode, most=_MAX_CACHED)

    @property
    def identity(self) -> str:
        """The model down to its weights, and what runs it."""
        return f"states-of-{self._manifest.identity}/onnxruntime{version('onnxruntime')}"

    def tokens(self, texts: Sequence[str]) -> list[States]:
        """The last-layer state of every token of each text."""
        return self._cached(texts)

    def _encode(self, texts: Sequence[str]) -> list[States]:
        return [self._states(text) for text in texts]

    def _states(self, text: str) -> States:
        whole = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
        most = self._manifest.window
        cut = len(whole.ids) > most
        ids = [*whole.ids[: most - 1], whole.ids[-1]] if cut else whole.ids
        marks = [*whole.special_tokens_mask[: most - 1], 1] if cut else whole.special_tokens_mask
        encoded = self._session.run(["encoded"], {"tokens": np.array([ids], np.int64)})[0]
        return States(encoded[0], np.array(marks, dtype=bool), len(ids) / len(whole.ids))
