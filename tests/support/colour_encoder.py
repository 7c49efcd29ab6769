"""An encoder that anybody can follow: a patch is its mean colour, a phrase the colour it names."""

import hashlib
from collections.abc import Sequence

import numpy as np

from histoeval.pathgls.grounding.decoys import Decoy, Decoys
from histoeval.pathgls.grounding.encoder import Pixels, Vectors
from histoeval.pathgls.results import Claim, ReportSpan
from histoeval.report import Assertion, EntityType

NAMED = {"pink": (215, 120, 190), "blue": (110, 90, 180), "green": (60, 200, 60)}

STRANGE = Decoys(
    Decoy(f"{word} thing", kind, "made up")
    for kind in (EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE)
    for word in "amber bronze coral denim ebony fawn gold hazel ivory jade khaki lime mauve".split()
)
"""Phrases whose colours nobody knows: they are drawn by their letters."""


class ColourEncoder:
    """Knows the colours above, and draws those of other words by a hash of their letters."""

    identity = "colours-1"
    size = 224

    def __init__(self) -> None:
        self.batches: list[int] = []

    def images(self, patches: Sequence[Pixels]) -> Vectors:
        assert all(patch.shape == (224, 224, 3) for patch in patches)
        self.batches.append(len(patches))
        return _rows([patch.reshape(-1, 3).mean(axis=0).tolist() for patch in patches])

    def texts(self, phrases: Sequence[str]) -> Vectors:
        return _rows([_colour(phrase) for phrase in phrases])


class CautiousEncoder(ColourEncoder):
    """Says that it knows nothing green, neither patches nor phrases."""

    def unknown_images(self, vectors: Vectors) -> list[str | None]:
        return ["too green" if row[1] > max(row[0], row[2]) else None for row in vectors]

    def unknown_phrases(self, phrases: Sequence[str]) -> list[str | None]:
        return ["green is not known" if "green" in phrase else None for phrase in phrases]


def _colour(phrase: str) -> Sequence[float]:
    named = [colour for word, colour in NAMED.items() if word in phrase]
    return named[0] if named else list(hashlib.sha256(phrase.encode()).digest()[:3])


def _rows(colours: Sequence[Sequence[float]]) -> Vectors:
    """From the middle of all colours, so that opposite ones point away from each other."""
    rows = np.array(colours, np.float64) - 128.0
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def claim(
    phrase: str,
    kind: EntityType = EntityType.FINDING,
    assertion: Assertion = Assertion.PRESENT,
) -> Claim:
    span = ReportSpan(text=phrase, start=0, end=len(phrase))
    return Claim(span=span, type=kind, assertion=assertion, phrase=phrase)
