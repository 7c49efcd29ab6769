"""The numbers behind a ranking: values by team, metric and case, places, and how firm they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from histoeval.statistics.resampling import Estimate, Numbers, Resamples, by_case, estimated

Ties = Literal["min", "dense", "average"]
Combine = Literal["mean-then-rank", "rank-then-mean"]

_DIGITS = 12
"""Scores that differ only beyond these are equal."""


@dataclass(frozen=True)
class Values:
    """Values of teams x metrics x cases, all there; `worst` and `best` count as 0 and 1."""

    teams: tuple[str, ...]
    metrics: tuple[str, ...]
    cases: tuple[str, ...]
    raw: Numbers
    worst: Numbers
    best: Numbers
    weights: Numbers

    @cached_property
    def scaled(self) -> Numbers:
        """From 0, the worst, to 1, the best."""
        worst, best = self.worst[None, :, None], self.best[None, :, None]
        return np.clip((self.raw - worst) / (best - worst), 0.0, 1.0)

    @cached_property
    def score(self) -> Numbers:
        """The weighted mean of the metrics (teams x cases)."""
        return np.asarray(np.einsum("tmc,m->tc", self.scaled, self.weights))

    def only(self, rows: NDArray[np.intp]) -> Values:
        """The same on some cases."""
        cases = tuple(self.cases[row] for row in rows)
        return Values(
            self.teams,
            self.metrics,
            cases,
            self.raw[:, :, rows],
            self.worst,
            self.best,
            self.weights,
        )


def resampled_means(values: Numbers, drawn: Resamples) -> Numbers:
    """Means over cases (the last axis) in every resample, which becomes the first axis."""
    shape, cases = values.shape[:-1], values.shape[-1]
    flat = values.reshape(-1, cases).T
    sums = by_case(np.column_stack([flat, np.ones(cases)]), drawn.case, len(drawn.times))
    totals = drawn.times.T.astype(np.float64) @ sums
    return np.asarray((totals[:, :-1] / totals[:, -1:]).reshape(-1, *shape))


def estimates(observed: Numbers, resampled: Numbers, drawn: Resamples) -> list[Estimate]:
    """A value with its interval for each of a row of means."""
    cases = len(np.unique(drawn.case))
    return [
        estimated(float(value), resampled[:, place], cases) for place, value in enumerate(observed)
    ]


def places(
    means: Numbers, weights: Numbers, combine: Combine, ties: Ties | Literal["max"]
) -> Numbers:
    """Places of teams from means scaled so that more is better (… x teams x metrics)."""
    if combine == "mean-then-rank":
        return _ranked(means @ weights, ties)
    by_metric = _ranked(np.swapaxes(means, -1, -2), "average")
    return _ranked(-np.swapaxes(by_metric, -1, -2) @ weights, ties)


def mean_ranks(means: Numbers, weights: Numbers) -> Numbers:
    """The weighted mean of a team's ranks by each metric (teams x metrics)."""
    return np.asarray(_ranked(means.T, "average").T @ weights)


def _ranked(scores: Numbers, ties: Ties | Literal["max"]) -> Numbers:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(scores, _DIGITS), method=ties, axis=-1), np.float64)


def kendall(one: Numbers, others: Numbers) -> Numbers:
    """Kendall's tau-b of one ranking with each of many (rankings x teams); 1 where all are tied."""
    first, second = np.triu_indices(len(one), 1)
    a = np.sign(one[first] - one[second])
    b = np.sign(others[:, first] - others[:, second])
    below = np.sqrt(np.abs(a).sum() * np.abs(b).sum(axis=1))
    return np.asarray(np.divide(b @ a, below, out=np.ones(len(others)), where=below > 0))


def place_interval(best: Numbers, worst: Numbers) -> tuple[float, float]:
    """The places that 95 of 100 resamples lie within: a shared one is all places it stands for."""
    low = np.quantile(best, 0.025, method="inverted_cdf")
    high = np.quantile(worst, 0.975, method="inverted_cdf")
    return float(low), float(high)


def shares_of_places(drawn: Numbers, teams: int) -> tuple[float, ...]:
    """In which share of the resamples a team has each place, from the first to the last."""
    counts = np.bincount(np.floor(drawn).astype(np.intp) - 1, minlength=teams)
    return tuple(float(share) for share in counts / len(drawn))


def filled(
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    metrics: Sequence[str],
    cases: Sequence[str],
    worst: Sequence[float],
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Values of teams x metrics x cases with the worst where there is none, and where there is."""
    raw = np.empty((len(found), len(metrics), len(cases)))
    raw[:] = np.asarray(worst)[None, :, None]
    there = np.zeros((len(found), len(cases)), dtype=np.bool_)
    for row, by_case_ in enumerate(found.values()):
        for column, case in enumerate(cases):
            values = by_case_.get(case, {})
            there[row, column] = all(metric in values for metric in metrics)
            for place, metric in enumerate(metrics):
                if metric in values:
                    raw[row, place, column] = values[metric]
    return raw, there
