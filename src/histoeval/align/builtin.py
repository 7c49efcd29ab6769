"""The shipped aligner: onnxruntime and tokenizers, no network, and no torch on a CPU."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from histoeval.align.aligner import Vectors, unit
from histoeval.align.opposites import vector as channel
from histoeval.align.opposites.vector import VERSION
from histoeval.errors import ModelError
from histoeval.reader.manifest import ENCODER, TOKENIZER, ModelManifest
from histoeval.report import Noun
from histoeval.resources import resource_path
from histoeval.runtime.memo import Memory
from histoeval.runtime.onnx import TokenRows, on_gpu, open_tokenizer, runner


class ChannelUse(Noun):
    version: Annotated[int, Field(ge=1)]
    weight: Annotated[float, Field(gt=0)]


class AlignerManifest(ModelManifest):
    """The content of `aligner.json`: files and their hashes, size of vectors, longest text.

    How tokens become one vector is part of the graph, and nothing that its users decide.
    """

    home, parts, what = "aligner.json", (ENCODER, TOKENIZER), "an aligner"

    size: Annotated[int, Field(ge=1)]  # numbers in a vector of the encoder
    # where a phrase is cut, the tokens that open and close it included
    tokens: Annotated[int, Field(ge=4)] = 32
    channel: ChannelUse | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        manifest = super().read(folder)
        if manifest.channel is not None and manifest.channel.version != VERSION:
            raise ModelError(
                f"{folder / cls.home} is of version {manifest.channel.version} of the channel, and "
                f"this HistoEval has version {VERSION}: train the aligner again"
            )
        return manifest


_REMEMBERED = 20_000  # phrases whose vectors are cached, one or two kilobytes each
_TOGETHER = 16  # phrases of as many tokens that are embedded together: more are no faster


class BuiltinAligner:
    """Embeds with an aligner from a folder; the shipped one when none is named.

    Beside the vector of the encoder stands what `align.opposites.vector` reads in the phrase.
    """

    concurrent = True  # several threads may call it at once

    def __init__(
        self, folder: Path | None = None, *, threads: int | None = None, device: str | None = None
    ) -> None:
        home = folder or resource_path("models/aligner")
        self.manifest = AlignerManifest.read(home)
        self._tokenizer = open_tokenizer(home / TOKENIZER)
        self._encoder = TokenRows(home / ENCODER, ("tokens",), device, threads, _TOGETHER)
        self._runner = runner(device)
        self.on_gpu = self.shares_gpu = on_gpu(device)
        self._remembered = Memory(self._embed, most=_REMEMBERED)

    @property
    def identity(self) -> str:
        parts = [self.manifest.identity, self._runner]
        if self.manifest.channel is not None:
            parts.append(channel.identity())
        return "/".join(parts)

    @property
    def size(self) -> int:
        return self.manifest.size + (channel.size() if self.manifest.channel is not None else 0)

    def embed(self, phrases: Sequence[str]) -> Vectors:
        if not phrases:
            return np.zeros((0, self.size), dtype=np.float32)
        return np.stack(self._remembered(phrases))

    def _embed(self, phrases: Sequence[str]) -> list[Vectors]:
        """Embed phrases; those with the same tokens are run once."""
        texts = [phrase.encode("utf-8", "replace").decode("utf-8") for phrase in phrases]
        sequences = [
            tuple(shortened(self._tokenizer.encode(text).ids, self.manifest.tokens))
            for text in texts
        ]
        distinct = list(dict.fromkeys(sequences))
        rows = self._encoder.rows([(tokens,) for tokens in distinct])
        vector_of = {
            tokens: unit(row[None])[0] for tokens, (row,) in zip(distinct, rows, strict=True)
        }
        vectors = [vector_of[tokens] for tokens in sequences]
        if (settings := self.manifest.channel) is None:
            return vectors
        return [
            channel.beside(vector, phrase, settings.weight)
            for vector, phrase in zip(vectors, phrases, strict=True)
        ]


def shortened(tokens: Sequence[int], most: int) -> list[int]:
    """Cut the tokens of a long phrase, but for the closing one."""
    return list(tokens) if len(tokens) <= most else [*tokens[: most - 1], tokens[-1]]
