"""Fits the curves that turn distances from decoy claims into values from 0 to 1."""

from __future__ import annotations

import numpy as np

from histoeval.evaluate.grounding_scores import CLAIMED, KINDS, ScoredClaims, ScoredTiles, claims_of
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


def fit_curve(claims: ScoredClaims, steps: int = 200) -> LogisticCalibration:
    """The logistic curve by which true claims are likeliest true and foreign ones foreign."""
    weights = np.where(claims.true, 0.5 / claims.true.sum(), 0.5 / (~claims.true).sum())
    parameters = np.array([1.0, 0.0])
    design = np.stack([claims.distances, np.ones_like(claims.distances)], axis=1)
    for _ in range(steps):
        chances = 1 / (1 + np.exp(-np.clip(design @ parameters, -30, 30)))
        slope = design.T @ (weights * (chances - claims.true)) + _CALM * parameters
        bend = (design * (weights * chances * (1 - chances))[:, None]).T @ design
        step = np.linalg.solve(bend + _CALM * np.eye(2), slope)
        parameters = parameters - np.clip(step, -1, 1)
        if np.abs(step).max() < 1e-9:
            break
    slope_, offset = (float(value) for value in parameters)
    return LogisticCalibration(slope=slope_, midpoint=-offset / slope_)
