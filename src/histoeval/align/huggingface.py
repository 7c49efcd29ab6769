"""Any Transformers encoder as an aligner, and as the encoder behind BERTScore and REG2025."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from histoeval.align.aligner import Vectors, unit
from histoeval.runtime.memo import Memory
from histoeval.runtime.transformer import THIS_MACHINE, Runtime, Transformer

HARE_ALIGNMENT = "knowlab-research/HARE-alignment"
ENTITY_TOKENS = 30  # where the published aligner cuts an entity


class TokenStates(NamedTuple):
    """Encoder states of a text, a mask of special tokens, and the share that was not cut off."""

    states: Vectors
    special: NDArray[np.bool_]
    seen: float


class HuggingFaceEncoder:
    """An encoder from a hub name or a folder.

    `pooling` is what stands for a whole phrase: the state of its first token, as SapBERT-like
    aligners are trained, or the mean over its tokens.
    """

    def __init__(
        self,
        name: str | Path = HARE_ALIGNMENT,
        *,
        pooling: Literal["cls", "mean"] = "cls",
        most_tokens: int = ENTITY_TOKENS,
        runtime: Runtime = THIS_MACHINE,
    ) -> None:
        self.transformer = Transformer(name, "encoder", runtime)
        self.pooling = pooling
        self.most_tokens = min(most_tokens, self.transformer.most_tokens)
        self.on_gpu = self.transformer.on_gpu
        self._remembered = Memory(self._embed, most=100_000)

    @property
    def identity(self) -> str:
        return f"{self.transformer.identity}/{self.pooling}{self.most_tokens}"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        if not phrases:
            return np.zeros((0, self.transformer.model.config.hidden_size), dtype=np.float32)
        return np.stack(self._remembered(phrases))

    def tokens(self, texts: Sequence[str]) -> list[TokenStates]:
        sequences = self._encode(texts)
        states = self.transformer.forward(sequences, lambda output: output.last_hidden_state)
        tokenizer = self.transformer.tokenizer
        special = [tokenizer.cls_token_id, tokenizer.sep_token_id]
        return [
            TokenStates(rows, np.isin(ids, special), self._share(text, ids))
            for text, ids, rows in zip(texts, sequences, states, strict=True)
        ]

    def seen(self, text: str) -> float:
        """The share of a text that the model is shown; the rest is cut off."""
        (ids,) = self._encode([text])
        return self._share(text, ids)

    def _share(self, text: str, ids: list[int]) -> float:
        if len(ids) < self.most_tokens:
            return 1.0
        return min(1.0, len(ids) / len(self.transformer.tokenizer.encode(text, verbose=False)))

    def _embed(self, phrases: Sequence[str]) -> list[Vectors]:
        sequences = self._encode(phrases)
        if self.pooling == "cls":
            rows = self.transformer.forward(
                sequences, lambda output: output.last_hidden_state[:, 0]
            )
        else:
            states = self.transformer.forward(sequences, lambda output: output.last_hidden_state)
            rows = [state.mean(axis=0) for state in states]
        return [unit(row) for row in rows]

    def _encode(self, texts: Sequence[str]) -> list[list[int]]:
        return [e.ids for e in self.transformer.encodings(texts, most=self.most_tokens)]
