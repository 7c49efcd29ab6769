"""Claims that are true of an image beside claims of another organ or another diagnosis.

Raw cosines of two claims cannot be compared, let alone those of two encoders. So the cosine of a
claim is held against those that claims foreign to the image have with the same image: how many
standard deviations it lies above their mean, put through a curve that was fitted to true and
foreign claims of cases that the model had not learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.grounding_scores import Array, ScoredTiles, auroc
from histoeval.evaluate.tile_labels import FALSE, TRUE, Targets
from histoeval.trust.grounding.manifest import LogisticCalibration

CLAIMED = ("organ", "concept", "family", "site")
"""The groups that claims are drawn from."""

KINDS = {"organ": "site", "concept": "diagnosis", "site": "diagnosis", "family": "finding"}
"""What a report calls a claim of each group; each kind has a curve of its own."""

_TOLD = {group: (group,) for group in CLAIMED} | {
    "organ or diagnosis": ("organ", "concept", "site"),
    "all": CLAIMED,
}
_CALM = 1e-6
"""Keeps a curve from becoming a step where two heaps do not touch."""


@dataclass(frozen=True, slots=True)
class ScoredClaims:
    """True and foreign claims about images, by how far each stands above foreign ones."""

    distances: Array
    true: npt.NDArray[np.bool_]
    groups: npt.NDArray[np.str_]


def distances_of(found: ScoredTiles, targets: Targets) -> Array:
    """Each cosine in standard deviations above the mean of foreign claims of the same group."""
    distances = np.zeros_like(found.cosines)
    for group in CLAIMED:
        places = [i for i, entry in enumerate(found.entries) if entry.group == group]
        if not places:
            continue
        cosines, foreign = found.cosines[:, places], targets[:, places] == FALSE
        count = np.maximum(foreign.sum(axis=1, keepdims=True), 1)
        mean = (cosines * foreign).sum(axis=1, keepdims=True) / count
        spread = np.sqrt((((cosines - mean) * foreign) ** 2).sum(axis=1, keepdims=True) / count)
        distances[:, places] = (cosines - mean) / np.maximum(spread, 1e-6)
    return distances


def claims_of(found: ScoredTiles, groups: Sequence[str] = CLAIMED) -> ScoredClaims:
    """All true claims and all foreign ones, of which each image has many more."""
    targets = found.targets()
    distances = distances_of(found, targets)
    columns = np.array([entry.group in groups for entry in found.entries])
    names = np.array([entry.group for entry in found.entries])
    chosen = np.isin(targets, (TRUE, FALSE)) & columns
    rows, places = np.nonzero(chosen)
    return ScoredClaims(distances[rows, places], targets[rows, places] == TRUE, names[places])


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


def curve(distances: Array, given: LogisticCalibration) -> Array:
    """From 0 (foreign) to 1 (true)."""
    odds = np.clip(given.slope * (distances - given.midpoint), -30, 30)
    return np.asarray(1 / (1 + np.exp(-odds)), np.float64)


def replaced_figures(
    found: ScoredTiles, curves: Mapping[str, LogisticCalibration]
) -> dict[str, dict[str, float]]:
    """The calibrated value of true claims, of foreign ones, and the drop between, by group."""
    told = {}
    for name, groups in _TOLD.items():
        claims = claims_of(found, [group for group in groups if KINDS[group] in curves])
        if not claims.true.any() or claims.true.all():
            continue
        values = np.zeros_like(claims.distances)
        for group in groups:
            of = claims.groups == group
            if of.any():
                values[of] = curve(claims.distances[of], curves[KINDS[group]])
        true, foreign = float(values[claims.true].mean()), float(values[~claims.true].mean())
        told[name] = {
            "true": true,
            "foreign": foreign,
            "drop": 1 - foreign / true,
            "auroc": auroc(values, list(claims.true)) or 0.0,
        }
    return told
