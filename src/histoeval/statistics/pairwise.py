"""Pairwise accuracy with calibrated ties: acc*eq of Deutsch, Foster and Freitag (2023).

Of every two reports, does the metric agree with the experts that the first is better, the second
is, or they are equal? Experts often call reports equal and metrics almost never do, so scores
closer than epsilon count as equal; epsilon is chosen to maximise the accuracy.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import FiniteFloat

from histoeval.report import Noun
from histoeval.statistics.correlation import grouped, ratio, scores_of, signs, undefined_reason
from histoeval.statistics.resampling import (
    Numbers,
    Positions,
    Resamples,
    Statistic,
    by_case,
    estimate,
    pair_sums,
)

CALIBRATIONS = 60  # resamples in which epsilon is chosen again, for the optimism


class Accuracy(Noun):
    """The share of pairs of reports on which metric and experts agree.

    `value` is as published: epsilon is chosen on the same pairs, which is optimistic. `optimism`
    estimates by how much, and the interval, which is for this epsilon, is lowered by it.
    `expert_ties` is the share that experts call equal: the accuracy of calling all pairs equal.
    """

    value: FiniteFloat | None = None
    epsilon: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    optimism: FiniteFloat | None = None
    expert_ties: FiniteFloat | None = None
    pairs: int = 0
    reason: str | None = None


@dataclass(frozen=True)
class _Pairs:
    """All pairs of rows of a group, nearest first by the metric, and those it ranks right.

    It may be right with the order of its scores, or by calling the two equal; `turn` is the gain
    from the latter. `last` are the places of the last pairs of each distance.
    """

    first: Positions
    second: Positions
    group: Positions
    apart: Numbers
    right: Numbers
    right_if_equal: Numbers
    turn: Numbers
    last: Positions

    def accuracies(self, weight: Numbers) -> Numbers:
        """Accuracy at each epsilon that turns a pair into a tie; no other epsilon can matter."""
        gains = np.concatenate([[0.0], np.cumsum(self.turn * weight)[self.last]])
        return np.asarray(np.einsum("p,p->", weight, self.right) + gains)


def pairwise_accuracy(
    metric: ArrayLike,
    expert: ArrayLike,
    resamples: Resamples,
    within: Sequence[Hashable] | None = None,
) -> Accuracy:
    """Accuracy over all pairs of rows, or over pairs `within` one group, such as a case.

    Of groups the mean is taken, with one epsilon for all; a group of one row has no pairs.
    """
    groups = [np.arange(len(resamples.case))]
    if within is not None:
        groups = [rows for rows in grouped(within) if len(rows) > 1]
    x, y, _ = scores_of(metric, expert, resamples.case)
    if reason := undefined_reason(x, y):
        return Accuracy(reason=reason)
    if not groups:
        return Accuracy(reason="no group has two rows")
    pairs = _pairs(x, y, groups)
    is_inside = np.array([len(np.unique(resamples.case[rows])) == 1 for rows in groups])
    weight = _weights(pairs, np.ones(len(x)), is_inside)
    accuracies = pairs.accuracies(weight)
    best = int(np.argmax(accuracies.round(10)))  # of equal ones, that with the smallest epsilon
    epsilon = float(pairs.apart[pairs.last[best - 1]]) if best else 0.0
    accuracy = estimate(_weighted(x, y, groups, is_inside, epsilon, resamples), resamples)
    optimism = _optimism(pairs, accuracies, is_inside, resamples)
    return Accuracy(
        value=accuracy.value,
        epsilon=epsilon,
        low=None if accuracy.low is None else max(0.0, accuracy.low - optimism),
        high=None if accuracy.high is None else accuracy.high - optimism,
        optimism=None if accuracy.low is None else optimism,
        expert_ties=float(np.einsum("p,p->", weight, pairs.right_if_equal)),
        pairs=len(pairs.apart),
        reason=accuracy.reason,
    )


def _pairs(metric: Numbers, expert: Numbers, groups: Sequence[Positions]) -> _Pairs:
    sides = [np.triu_indices(len(rows), 1) for rows in groups]
    i = np.concatenate([rows[a] for rows, (a, _) in zip(groups, sides, strict=True)])
    j = np.concatenate([rows[b] for rows, (_, b) in zip(groups, sides, strict=True)])
    group = np.repeat(np.arange(len(groups)), [len(a) for a, _ in sides])
    order = np.argsort(np.abs(metric[i] - metric[j]), kind="stable")
    i, j, group = i[order], j[order], group[order]
    distances = np.abs(metric[i] - metric[j])
    right = (np.sign(metric[i] - metric[j]) == np.sign(expert[i] - expert[j])).astype(np.float64)
    equal = (expert[i] == expert[j]).astype(np.float64)
    return _Pairs(
        first=i,
        second=j,
        group=group,
        apart=distances,
        right=right,
        right_if_equal=equal,
        turn=equal - right,
        last=np.flatnonzero(np.concatenate([distances[1:] != distances[:-1], [True]])),
    )


def _weights(pairs: _Pairs, rows: Numbers, is_inside: NDArray[np.bool_]) -> Numbers:
    """Weights of pairs, sum 1: a group within one case counts as often as its case was drawn."""
    weights = rows[pairs.first]
    if not is_inside.all():
        second = rows[pairs.second]
        weights *= np.where(is_inside[pairs.group], 1.0, second) if is_inside.any() else second
    if len(is_inside) == 1:
        return np.asarray(weights / max(weights.sum(), 1.0))
    totals = np.asarray(np.bincount(pairs.group, weights, len(is_inside)), dtype=np.float64)
    sizes = np.bincount(pairs.group, minlength=len(is_inside))
    counts = np.where(is_inside, totals / sizes, totals > 0)
    share = np.nan_to_num(ratio(counts, totals)) / max(counts.sum(), 1.0)
    return np.asarray(share[pairs.group] * weights)


def _optimism(
    pairs: _Pairs, accuracies: Numbers, is_inside: NDArray[np.bool_], resamples: Resamples
) -> float:
    """Efron's bootstrap: the best epsilon of each resample, tested on all data."""
    excess = []
    for times in resamples.times.T[:CALIBRATIONS]:
        weight = _weights(pairs, times[resamples.case].astype(np.float64), is_inside)
        resampled_accuracies = pairs.accuracies(weight)
        index = int(np.argmax(resampled_accuracies))
        excess.append(resampled_accuracies[index] - accuracies[index])
    return max(0.0, float(np.mean(excess)))


def _weighted(
    metric: Numbers,
    expert: Numbers,
    groups: Sequence[Positions],
    is_inside: NDArray[np.bool_],
    epsilon: float,
    resamples: Resamples,
) -> Statistic:
    """Mean accuracy of groups as a function of how often each case was drawn.

    A group within one case counts as often as its case; one that spans several depends on what is
    drawn of them. A row paired with its own copy is not counted.
    """
    shares, firsts, spanning = [], [], []
    for rows, is_of_one_case in zip(groups, is_inside, strict=True):
        if is_of_one_case:
            agreeing, n = _agreements(metric[rows], expert[rows], epsilon).sum(), len(rows)
            shares.append((agreeing / (n * (n - 1)), 1.0))
            firsts.append(resamples.case[rows[0]])
        else:
            spanning.append(_spanning(metric, expert, rows, epsilon, resamples))
    columns = np.array(shares).reshape(-1, 2)
    sums = by_case(columns, np.array(firsts, dtype=np.intp), len(resamples.times))

    def value(times: Numbers) -> Numbers:
        total, count = (times.T @ sums).T
        for statistic in spanning:
            share = statistic(times)
            total = total + np.nan_to_num(share)
            count = count + ~np.isnan(share)
        return ratio(total, count)

    return value


def _spanning(
    metric: Numbers, expert: Numbers, rows: Positions, epsilon: float, resamples: Resamples
) -> Statistic:
    case = resamples.case[rows]
    total = pair_sums(_agreements(metric[rows], expert[rows], epsilon), case, len(resamples.times))
    rows_of = np.bincount(case, minlength=len(resamples.times)).astype(np.float64)

    def share(times: Numbers) -> Numbers:
        pairs = (rows_of @ times) ** 2 - rows_of @ (times * times)
        return ratio(total(times), pairs)

    return share


def _agreements(metric: Numbers, expert: Numbers, epsilon: float) -> NDArray[np.int8]:
    """For every two rows, 1 where metric and experts agree; 0 for a row and itself."""
    is_apart = np.abs(metric[:, None] - metric) > epsilon
    agreement = (signs(metric) * is_apart == signs(expert)).astype(np.int8)
    np.fill_diagonal(agreement, 0)
    return cast("NDArray[np.int8]", agreement)
