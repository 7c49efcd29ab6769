"""The aligner as it is shipped: onnxruntime and tokenizers, no network, and no torch on a CPU."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from histoeval.align.aligner import Vectors, unit
from histoeval.align.opposites import vector as channel
from histoeval.align.opposites.vector import VERSION
from histoeval.errors import ModelError
from histoeval.reader.manifest import (
    ENCODER,
    TOKENIZER,
    HashedFiles,
    checked_manifest,
    put_manifest,
)
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.runtime.batching import Tokens
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import TokenRows, on_gpu, open_tokenizer, runner

MANIFEST = "aligner.json"


class ChannelUse(Noun):
    """That the numbers of `align.opposites.vector` stand beside the vector of the encoder."""

    version: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(gt=0)]


class AlignerManifest(HashedFiles):
    """What `aligner.json` says: the files and their hashes, the size of vectors, the longest text.

    How tokens become one vector is part of the graph, and nothing that its users decide.
    """

    size: Annotated[int, Field(ge=1)]
    """Numbers in a vector of the encoder."""
    tokens: Annotated[int, Field(ge=4)] = 32
    """Where a phrase is cut, the tokens that open and close it included."""
    channel: ChannelUse | None = None
    details: dict[str, Any] = Field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The aligner by name and by everything that its vectors depend on."""
        content = self.model_dump_json(exclude={"details", "name"})
        return f"{self.name}@{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def read_aligner_manifest(folder: Path) -> AlignerManifest:
    """The manifest of a folder, if every file is there and is the one that was written."""
    manifest = checked_manifest(
        folder, MANIFEST, AlignerManifest, (ENCODER, TOKENIZER), "an aligner"
    )
    if manifest.channel is not None and manifest.channel.version != VERSION:
        raise ModelError(
            f"{folder / MANIFEST} is of version {manifest.channel.version} of the channel, and "
            f"this HistoEval has version {VERSION}: train the aligner again"
        )
    return manifest


def write_aligner_manifest(folder: Path, manifest: AlignerManifest) -> None:
    """Write the manifest, whole or not at all."""
    put_manifest(folder / MANIFEST, manifest)


_REMEMBERED = 20_000
"""Phrases whose vectors are cached, one or two kilobytes each."""

_TOGETHER = 16
"""Phrases of as many tokens that are embedded together: more are no faster."""


class BuiltinAligner:
    """Embeds with an aligner from a folder; the shipped one when none is named.

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
        self._encoder = TokenRows(home / ENCODER, ("tokens",), device, threads, _TOGETHER)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)
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
        rows = self._encoder.rows([(tokens,) for tokens in distinct])
        found = {tokens: unit(row[None])[0] for tokens, (row,) in zip(distinct, rows, strict=True)}
        vectors = [found[tokens] for tokens in sequences]
        if (use := self.manifest.channel) is None:
            return vectors
        return [
            channel.beside(vector, phrase, use.weight)
            for vector, phrase in zip(vectors, phrases, strict=True)
        ]

    def _tokens(self, phrase: str) -> Tokens:
        whole = phrase.encode("utf-8", "replace").decode("utf-8")
        return tuple(shortened(self._tokenizer.encode(whole).ids, self.manifest.tokens))


def shortened(tokens: Sequence[int], most: int) -> list[int]:
    """The tokens of a phrase; of a long one the first, and the one that closes it."""
    return list(tokens) if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
