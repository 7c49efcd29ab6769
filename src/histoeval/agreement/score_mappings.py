"""Mappings from a judge's scores to experts', fitted: an offset, thresholds, or a rising curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from histoeval.judges.alignment import MappingKind, ScoreMapping
from histoeval.statistics.resampling import Numbers

KINDS: tuple[MappingKind, ...] = get_args(MappingKind)
"""From the simplest to the freest; the simplest wins unless another is clearly better."""

Scale = tuple[float, float]
Rows = NDArray[np.bool_]


@dataclass(frozen=True)
class ScoredCriterion:
    """The scores of a judge and of experts for the same pairs, and the case of each."""

    name: str
    scale: Scale
    judge: Numbers
    expert: Numbers
    cases: tuple[str, ...]

    def of(self, rows: Rows) -> ScoredCriterion:
        """Some of the pairs."""
        cases = tuple(case for case, there in zip(self.cases, rows, strict=True) if there)
        return ScoredCriterion(self.name, self.scale, self.judge[rows], self.expert[rows], cases)


def fit_mapping(kind: MappingKind, scored: ScoredCriterion) -> ScoreMapping:
    """The mapping of a kind that leaves the least squared error."""
    low, high = scored.scale
    if kind == "offset":
        shift = float(np.mean(scored.expert - scored.judge))
        return ScoreMapping(kind=kind, low=low, high=high, offset=round(shift, 4))
    if kind == "thresholds":
        return ScoreMapping(kind=kind, low=low, high=high, thresholds=_thresholds(scored))
    if kind == "curve":
        at, value = _rising(scored)
        return ScoreMapping(kind=kind, low=low, high=high, at=at, value=value)
    return ScoreMapping(low=low, high=high)


def _rising(scored: ScoredCriterion) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The non-decreasing means of experts' scores at each score of the judge (isotonic)."""
    at, place = np.unique(scored.judge, return_inverse=True)
    counts = np.bincount(place).astype(float)
    total = np.bincount(place, weights=scored.expert)
    mean = [
        max(
            min(total[a : b + 1].sum() / counts[a : b + 1].sum() for b in range(i, len(at)))
            for a in range(i + 1)
        )
        for i in range(len(at))
    ]
    low, high = scored.scale
    inside = np.maximum.accumulate(np.clip(np.round(mean, 4), low, high))
    return tuple(map(float, at)), tuple(map(float, inside))


def _thresholds(scored: ScoredCriterion) -> tuple[float, ...]:
    """The cuts between scores of the judge that leave the least squared error on whole steps.

    By dynamic programming over the judge's scores from low to high: the best sum of errors so far
    that ends on each step of the scale.
    """
    at, place = np.unique(scored.judge, return_inverse=True)
    steps = np.arange(scored.scale[0], scored.scale[1] + 1)
    errors = np.zeros((len(at), len(steps)))
    np.add.at(errors, place, (scored.expert[:, None] - steps) ** 2)
    best, came = errors[0], []
    for each in errors[1:]:
        least = np.minimum.accumulate(best)
        came.append([int(np.argmin(best[: step + 1])) for step in range(len(steps))])
        best = least + each
    path = [int(np.argmin(best))]
    for before in reversed(came):
        path.append(before[path[-1]])
    path.reverse()
    between = [float(at[0]), *((at[1:] + at[:-1]) / 2).tolist()]
    return tuple(
        between[next(i for i, step in enumerate(path) if step >= wanted)]
        for wanted in range(1, path[-1] + 1)
    )
