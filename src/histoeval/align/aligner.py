"""What every aligner can do: put phrases into a space where alike means near."""

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
        """Which model this is, down to its weights, for the signature."""

    def embed(self, phrases: Sequence[str]) -> Vectors:
        """One unit-length row per phrase, in the order of the phrases."""


def unit(vectors: Vectors) -> Vectors:
    """The rows at length one, so that a dot product is a cosine; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return (vectors / np.where(lengths == 0, 1, lengths)).astype(np.float32)


PLACES = 4096
"""Size of the hash table; two runs that share a place count as one."""

LENGTHS = (2, 3, 4)


class LexicalAligner:
    """Embeds a phrase by its runs of two to four letters, whatever their case."""

    @property
    def identity(self) -> str:
        """What the vectors depend on."""
        return f"lexical/{'-'.join(map(str, LENGTHS))}/{PLACES}"

    def embed(self, phrases: Sequence[str]) -> Vectors:
        """One unit-length row per phrase, in the order of the phrases."""
        rows = np.zeros((len(phrases), PLACES), dtype=np.float32)
        for row, phrase in zip(rows, phrases, strict=True):
            for place, count in Counter(_places(phrase)).items():
                row[place] = 1 + np.log(count)
        return unit(rows)


def _places(phrase: str) -> list[int]:
    """The places of all runs; those at the edges of words differ from those inside."""
    if not (words := phrase.casefold().split()):
        return []
    spelled = f" {' '.join(words)} "
    return [
        crc32(spelled[start : start + length].encode("utf-8", "surrogatepass")) % PLACES
        for length in LENGTHS
        for start in range(len(spelled) - length + 1)
    ]
