"""What every aligner can do: put phrases into a space where alike means near."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

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
