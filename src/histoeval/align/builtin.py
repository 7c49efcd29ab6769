"""The aligner as it is shipped: onnxruntime and tokenizers, no torch and no network."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import numpy as np

from histoeval.align.aligner import Vectors, unit
from histoeval.align.manifest import read_aligner_manifest
from histoeval.align.opposites import vector as channel
from histoeval.reader.manifest import ENCODER, TOKENIZER
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import open_session, open_tokenizer
from histoeval.runtime.threads import cores

_REMEMBERED = 100_000


class BuiltinAligner:
    """Embeds with an aligner from a folder; the shipped one when none is named.

    Each phrase is run by itself, so that its vector is the same to the bit whatever it is run with.
    Beside the vector of the encoder stands what `align.opposites.vector` reads in the phrase.
    """

    def __init__(self, folder: Path | None = None, *, threads: int | None = None) -> None:
        home = folder or resource_path("models/aligner")
        self.manifest = read_aligner_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = open_session(home / ENCODER)
        self._threads = threads or cores()
        self._remembered = Memory(self._embed, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, what is read beside it, and what runs it."""
        parts = [self.manifest.identity, f"onnxruntime{version('onnxruntime')}"]
        if self.manifest.channel is not None:
            parts.append(channel.identity())
        return "/".join(parts)

    @property
    def size(self) -> int:
        """Numbers in a vector."""
        return self.manifest.size + (channel.size() if self.manifest.channel is not None else 0)

    def embed(self, phrases: Sequence[str]) -> Vectors:
        """One unit-length row per phrase, in the order of the phrases."""
        if not phrases:
            return np.zeros((0, self.size), dtype=np.float32)
        return np.stack(self._remembered(phrases))

    def _embed(self, phrases: Sequence[str]) -> list[Vectors]:
        """Phrases that are the same in tokens are run once."""
        sequences = [self._tokens(phrase) for phrase in phrases]
        distinct = list(dict.fromkeys(sequences))
        parts = [distinct[first :: self._threads] for first in range(self._threads)]
        with ThreadPoolExecutor(self._threads) as pool:
            ran = pool.map(lambda part: [self._run(tokens) for tokens in part], parts)
        found = {
            tokens: row
            for part, rows in zip(parts, ran, strict=True)
            for tokens, row in zip(part, rows, strict=True)
        }
        return [
            self._whole(found[tokens], phrase)
            for tokens, phrase in zip(sequences, phrases, strict=True)
        ]

    def _whole(self, vector: Vectors, phrase: str) -> Vectors:
        """The vector of the encoder and, where the manifest says so, the channel beside it."""
        use = self.manifest.channel
        return vector if use is None else channel.beside(vector, phrase, use.weight)

    def _run(self, tokens: tuple[int, ...]) -> Vectors:
        (rows,) = self._session.run(None, {"tokens": np.array([tokens], dtype=np.int64)})
        return unit(rows[0])

    def _tokens(self, phrase: str) -> tuple[int, ...]:
        whole = phrase.encode("utf-8", "replace").decode("utf-8")
        return tuple(shortened(self._tokenizer.encode(whole).ids, self.manifest.tokens))


def shortened(tokens: Sequence[int], most: int) -> list[int]:
    """The tokens of a phrase; of a long one the first, and the one that closes it."""
    return list(tokens) if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
