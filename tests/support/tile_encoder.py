"""An encoder that knows the tiles of `tiny_tiles` by their colour."""

import hashlib
from collections.abc import Sequence

import numpy as np

from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.encoder import Pixels, Vectors
from tests.support.tiny_tiles import KINDS

_COLOURS = np.array(list(KINDS.values()), np.float64)
_BREADTH = 60.0


class TileEncoder:
    """A patch is how near its colour is to that of each kind of tile."""

    size = 224

    def __init__(self, identity: str = "tiles@made-up/1") -> None:
        self.identity = identity
        self.decisions: Decisions | None = None

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        means = np.stack([patch.reshape(-1, 3).mean(axis=0) for patch in patches])
        far = np.linalg.norm(means[:, None] - _COLOURS[None], axis=2)
        return _of_length_one(np.exp(-((far / _BREADTH) ** 2)))

    def texts(self, phrases: Sequence[str]) -> Vectors:
        return _of_length_one(np.stack([_shown(phrase.lower()) for phrase in phrases]))


def _shown(phrase: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The kinds of tile that a phrase fits, by diagnosis or else by organ; or by its letters."""
    for names in zip(*((concept, organ) for organ, concept, _ in KINDS), strict=True):
        fits = [float(name in phrase) for name in names]
        if any(fits):
            return np.array(fits)
    letters = list(hashlib.sha256(phrase.encode()).digest()[: len(KINDS)])
    return np.array(letters, np.float64) - 128.0


def _of_length_one(rows: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
