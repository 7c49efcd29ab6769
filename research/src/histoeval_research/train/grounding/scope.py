"""What a grounding model knows: where images and phrases end that are like those it has learned.

Images are measured by how far their vector lies from those of the training, along the directions in
which these hardly vary (Mahalanobis); phrases by the cosine of their meaning with the nearest
wording that was learned. Both limits are set on what was held out of the learning.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.grounding_scores import (
    CLAIMED,
    KINDS,
    Array,
    ScoredClaims,
    ScoredTiles,
    claims_of,
)
from histoeval.evaluate.tile_labels import TileConcept
from histoeval.pathgls.grounding.builtin import LogisticCalibration
from histoeval.statistics.calibration import fit_logistic

_SHRINKAGE = 0.05
"""How much of the covariance is replaced by that of a ball, against chance directions."""

KEPT_IMAGES, KEPT_PHRASES = 0.96, 0.85
"""The shares of known things, unseen in learning, that should be called known.

Fewer of phrases: most are worded as they were learned, and a diagnosis that was never learned but
is called known is worse than a wording that is refused.
"""

Vectors = npt.NDArray[np.float32]


class WhiteningScope(NamedTuple):
    """A centre, and a matrix after which usual vectors have length 1."""

    centre: Vectors
    whitening: Vectors

    def distances(self, vectors: Vectors) -> Array:
        """How far each vector is from the usual ones."""
        moved = (vectors - self.centre) @ self.whitening
        return np.asarray(np.linalg.norm(moved.astype(np.float64), axis=1), np.float64)


def fit_images(vectors: Vectors) -> WhiteningScope:
    """The scope of these vectors; their root mean square distance is 1."""
    rows = vectors.astype(np.float64)
    centre = rows.mean(axis=0)
    spread = np.cov(rows - centre, rowvar=False)
    size = len(spread)
    ball = np.trace(spread) / size * np.eye(size)
    values, axes = np.linalg.eigh((1 - _SHRINKAGE) * spread + _SHRINKAGE * ball)
    whitening = (axes / np.sqrt(values * size)) @ axes.T
    return WhiteningScope(centre.astype(np.float32), whitening.astype(np.float32))


def wordings_of(entries: Sequence[TileConcept]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """All wordings of the bank, and for each the place of its entry."""
    wordings = [(phrase, place) for place, entry in enumerate(entries) for phrase in entry.phrases]
    return [phrase for phrase, _ in wordings], np.array([place for _, place in wordings], np.int64)


class PhraseTrial(NamedTuple):
    """Likeness of wordings to the rest of the bank, when they are skipped of it."""

    known: Array
    """Only the wording is skipped: the bank has its entry in other words."""
    unknown: Array
    """All that says the same entry is skipped: as if it had never been learned."""


def try_phrases(entries: Sequence[TileConcept], meanings: Vectors) -> PhraseTrial:
    """Leave out one wording at a time, and then one concept or organ at a time."""
    _, owners = wordings_of(entries)
    cosines = (meanings @ meanings.T).astype(np.float64)
    np.fill_diagonal(cosines, -1.0)
    same = owners[:, None] == owners[None, :]
    tried = np.array([entries[owner].group in ("concept", "organ") for owner in owners])
    alone = same.sum(axis=1) == 1
    known = cosines.max(axis=1)[tried & ~alone]
    unknown = np.where(_related(entries)[owners][:, owners], -1.0, cosines).max(axis=1)[tried]
    return PhraseTrial(known, unknown)


def _related(entries: Sequence[TileConcept]) -> npt.NDArray[np.bool_]:
    """Entries that share a wording, or of which one holds the name of the other."""
    words = [{phrase.lower() for phrase in entry.phrases} for entry in entries]
    table = np.eye(len(entries), dtype=bool)
    for one, first in enumerate(words):
        name = entries[one].name.lower()
        for other, second in enumerate(words):
            if first & second or any(name in phrase for phrase in second):
                table[one, other] = True
    return table


def threshold(values: Array, kept: float) -> float:
    """What this share of the values lies below."""
    return float(np.quantile(values, kept))


_CALM = 1e-6
"""Keeps a curve from becoming a step where two heaps do not touch."""


def fit_curves(found: ScoredTiles) -> dict[str, LogisticCalibration]:
    """A curve for each kind of claim, with true claims and decoys of the same weight."""
    kinds = dict.fromkeys(KINDS.values())
    claims = {k: claims_of(found, [g for g in CLAIMED if KINDS[g] == k]) for k in kinds}
    return {
        kind: fit_curve(some)
        for kind, some in claims.items()
        if some.true.any() and not some.true.all()
    }


def fit_curve(claims: ScoredClaims) -> LogisticCalibration:
    """The logistic curve by which true claims are likeliest true and decoys false."""
    weights = np.where(claims.true, 0.5 / claims.true.sum(), 0.5 / (~claims.true).sum())
    truth = claims.true.astype(np.float64)
    slope, offset = fit_logistic(claims.distances, truth, weights, ridge=_CALM)
    return LogisticCalibration(slope=slope, midpoint=-offset / slope)
