"""The interface of aligners, which put phrases into a space where alike means near."""

from collections import Counter
from collections.abc import Sequence
from typing import Protocol, runtime_checkable
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@runtime_checkable
class Aligner(Protocol):
    """Embeds phrases. The vector of a phrase never depends on the phrases beside it."""

    @property
    def identity(self) -> str:
        """The identity of the model, down to its weights, for the signature."""

    def embed(self, phrases: Sequence[str]) -> Vectors:
        """One unit-length row per phrase, in the order of the phrases."""


def unit(vectors: Vectors) -> Vectors:
    """The rows at length one, so that a dot product is a cosine; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


PLACES = 4096  # size of the hash table; two runs that share a place count as one
LENGTHS = (2, 3, 4)


class LexicalAligner:
    @property
    def identity(self) -> str:
        return f"lexical/{'-'.join(map(str, LENGTHS))}/{PLACES}"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        rows = np.zeros((len(phrases), PLACES), dtype=np.float32)
        for row, phrase in zip(rows, phrases, strict=True):
            if words := phrase.casefold().split():
                spelled = f" {' '.join(words)} "  # runs at the edges of words differ from others
                runs = (
                    spelled[start : start + length]
                    for length in LENGTHS
                    for start in range(len(spelled) - length + 1)
                )
                counts = Counter(
                    crc32(run.encode("utf-8", "surrogatepass")) % PLACES for run in runs
                )
                for position, count in counts.items():
                    row[position] = 1 + np.log(count)
        return unit(rows)
