"""The aligner as it is shipped: onnxruntime and tokenizers, no network, and no torch on a CPU."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from histoeval.align.aligner import Vectors, unit
from histoeval.align.manifest import read_aligner_manifest
from histoeval.align.opposites import vector as channel
from histoeval.reader.manifest import ENCODER, TOKENIZER
from histoeval.resources import resource_path
from histoeval.runtime.batching import alike
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import on_cpu, on_gpu, open_session, open_tokenizer, runner
from histoeval.runtime.threads import cores

_REMEMBERED = 20_000
"""Phrases whose vectors are cached, one or two kilobytes each."""
_TOGETHER_ON_DEVICE = 1024

_Tokens = tuple[int, ...]


class BuiltinAligner:
    """Embeds with an aligner from a folder; the shipped one when none is named.

    On a CPU each phrase is run by itself, so that its vector is the same to the bit whatever it is
    run with; another device runs phrases of as many tokens together, without padding.
    Beside the vector of the encoder stands what `align.opposites.vector` reads in the phrase.
    """

    concurrent = True
    """Several threads may call it at once."""

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/aligner")
        self.manifest = read_aligner_manifest(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._session = open_session(home / ENCODER, device)
        self._runner = runner(device)
        self.on_gpu = on_gpu(device)
        self._threads = threads if on_cpu(device) else 1
        self._most = 1 if on_cpu(device) else _TOGETHER_ON_DEVICE
        self._remembered = Memory(self._embed, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        """The model down to its weights, what is read beside it, and what runs it."""
        parts = [self.manifest.identity, self._runner]
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
        groups = [
            [distinct[i] for i in group] for group in alike([*map(len, distinct)], self._most)
        ]
        found = {
            tokens: row
            for group, rows in zip(groups, self._run_all(groups), strict=True)
            for tokens, row in zip(group, rows, strict=True)
        }
        return [
            self._whole(found[tokens], phrase)
            for tokens, phrase in zip(sequences, phrases, strict=True)
        ]

    def _run_all(self, groups: Sequence[Sequence[_Tokens]]) -> list[Vectors]:
        threads = self._threads or cores()
        if len(groups) == 1 or threads == 1:
            return [self._run(group) for group in groups]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self._run, groups))

    def _whole(self, vector: Vectors, phrase: str) -> Vectors:
        """The vector of the encoder and, where the manifest says so, the channel beside it."""
        use = self.manifest.channel
        return vector if use is None else channel.beside(vector, phrase, use.weight)

    def _run(self, group: Sequence[_Tokens]) -> Vectors:
        (rows,) = self._session.run(None, {"tokens": np.array(group, dtype=np.int64)})
        return unit(rows)

    def _tokens(self, phrase: str) -> _Tokens:
        whole = phrase.encode("utf-8", "replace").decode("utf-8")
        return tuple(shortened(self._tokenizer.encode(whole).ids, self.manifest.tokens))


def shortened(tokens: Sequence[int], most: int) -> list[int]:
    """The tokens of a phrase; of a long one the first, and the one that closes it."""
    return list(tokens) if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
