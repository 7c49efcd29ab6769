"""Fits the curves that turn distances from decoy claims into values from 0 to 1."""

from __future__ import annotations

import numpy as np

from histoeval.evaluate.grounding_scores import CLAIMED, KINDS, ScoredClaims, ScoredTiles, claims_of
from histoeval.statistics.calibration import fit_logistic
from histoeval.trust.grounding.manifest import LogisticCalibration

_CALM = 1e-6
"""Keeps a curve from becoming a step where two heaps do not touch."""


def fit_curves(found: ScoredTiles) -> dict[str, LogisticCalibration]:
    """A curve for each kind of claim, with true and foreign claims of the same weight."""
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
