"""Pearson, Spearman and Kendall's tau-b of a metric with experts, bootstrapped by case.

A resample gives each row a weight (how often its case was drawn), so each coefficient is written
for weighted rows; with weights of 1 it is the usual one.
"""

from collections.abc import Hashable, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from histoeval.errors import SettingError
from histoeval.statistics.resampling import (
    Estimate,
    Numbers,
    Positions,
    Resamples,
    Statistic,
    by_case,
    estimate,
    in_blocks,
    pair_sums,
)

MIN_PAIRS = 4  # with fewer pairs a correlation means nothing
NO_SPREAD = 1e-12  # relative differences below this are rounding errors
SINGLE = float(np.finfo(np.float32).eps)  # nearer scores, relative to the largest, are ties


class Coefficient(StrEnum):
    PEARSON = "pearson"
    SPEARMAN = "spearman"
    KENDALL = "kendall"


RANKED_BY = Coefficient.SPEARMAN  # the default for ranking metrics: it needs no straight line


def correlate(
    coefficient: Coefficient, metric: ArrayLike, expert: ArrayLike, resamples: Resamples
) -> Estimate:
    x, y, _ = scores_of(metric, expert, resamples.case)
    if reason := undefined_reason(x, y):
        return Estimate(reason=reason)
    statistic = weighted(coefficient, x, y, resamples.case, len(resamples.times))
    return estimate(statistic, resamples, null=0.0)


def correlate_within(
    coefficient: Coefficient,
    metric: ArrayLike,
    expert: ArrayLike,
    groups: Sequence[Hashable],
    resamples: Resamples,
) -> Estimate:
    """Mean correlation within groups, none of which spans two cases; undefined ones are skipped."""
    x, y, _ = scores_of(metric, expert, resamples.case)
    cases, values = [], []
    for rows in grouped(groups):
        if len(np.unique(resamples.case[rows])) > 1:
            raise SettingError("groups that span several cases cannot be averaged over cases")
        zeros = np.zeros(len(rows), dtype=np.intp)
        value = weighted(coefficient, x[rows], y[rows], zeros, 1)(np.ones((1, 1)))[0]
        if not np.isnan(value):
            cases.append(resamples.case[rows[0]])
            values.append(value)
    if not values:
        return Estimate(reason="in no group do both scores vary")
    drawn = Resamples(np.array(cases, dtype=np.intp), resamples.times)
    return estimate(mean_of(np.array(values), drawn), drawn, null=0.0)


def mean_of(column: Numbers, drawn: Resamples) -> Statistic:
    """The mean over rows as a function of how often each case was drawn."""
    sums = by_case(np.stack([column, np.ones_like(column)], axis=1), drawn.case, len(drawn.times))
    return lambda times: ratio(*(times.T @ sums).T)


def classical_p(coefficient: Coefficient, metric: ArrayLike, expert: ArrayLike) -> float | None:
    """The p-value that papers print (scipy's), which assumes independent rows."""
    from scipy import stats

    x, y = scores_of(metric, expert)
    if undefined_reason(x, y):
        return None
    tests = (stats.pearsonr, stats.spearmanr, stats.kendalltau)
    return float(dict(zip(Coefficient, tests, strict=True))[coefficient](x, y).pvalue)


def scores_of(*scores: ArrayLike) -> tuple[Numbers, ...]:
    """Finite columns of one length; scores that differ by noise of float32 become the lowest."""
    columns = [np.asarray(column, dtype=np.float64) for column in scores]
    if len({column.shape for column in columns}) > 1 or columns[0].ndim != 1:
        raise SettingError("scores must be columns of one length")
    if not all(np.isfinite(column).all() for column in columns):
        raise SettingError("scores must be finite numbers: drop the rows that have none")
    for index, column in enumerate(columns):
        levels = np.unique(column)
        is_new = np.diff(levels, prepend=-np.inf) > SINGLE * np.abs(column).max(initial=0)
        if not is_new.all():
            lowest = levels[is_new][np.cumsum(is_new) - 1]
            columns[index] = np.asarray(lowest[np.searchsorted(levels, column)])
    return tuple(columns)


def undefined_reason(metric: Numbers, expert: Numbers) -> str | None:
    if len(metric) < MIN_PAIRS:
        pairs = "1 pair" if len(metric) == 1 else f"{len(metric)} pairs"
        return f"{pairs} only, and {MIN_PAIRS} are needed"
    if is_constant(metric):
        return "the metric gives all pairs the same score"
    if is_constant(expert):
        return "the experts give all pairs the same score"
    return None


def is_constant(scores: Numbers) -> bool:
    return bool(np.ptp(scores) <= NO_SPREAD * np.abs(scores).max())


def grouped(groups: Sequence[Hashable]) -> list[Positions]:
    rows: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        rows.setdefault(group, []).append(row)
    return [np.array(members, dtype=np.intp) for members in rows.values()]


def weighted(
    coefficient: Coefficient, one: Numbers, other: Numbers, case: Positions, cases: int
) -> Statistic:
    """A coefficient as a function of how often each case was drawn."""
    statistics = {
        Coefficient.PEARSON: _pearson,
        Coefficient.SPEARMAN: _spearman,
        Coefficient.KENDALL: _kendall,
    }
    return statistics[coefficient](one, other, case, cases)


def ratio(above: Numbers, below: Numbers) -> Numbers:
    """A quotient, NaN where the denominator is 0."""
    return np.asarray(np.divide(above, below, out=np.full(above.shape, np.nan), where=below > 0))


def standardised(scores: Numbers) -> Numbers:
    spread = scores.std()
    return np.asarray((scores - scores.mean()) / (spread if spread > 0 else 1.0))


def _pearson(metric: Numbers, expert: Numbers, case: Positions, cases: int) -> Statistic:
    """Pearson from sums of scores, squares and products of each case."""
    x, y = standardised(metric), standardised(expert)
    sums = by_case(np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1), case, cases)

    def value(times: Numbers) -> Numbers:
        count, *totals = (times.T @ sums).T
        mean_x, mean_y, xx, yy, xy = (ratio(column, count) for column in totals)
        spread = _above_rounding(xx - mean_x**2) * _above_rounding(yy - mean_y**2)
        return np.clip(ratio(xy - mean_x * mean_y, np.sqrt(spread)), -1, 1)

    return value


def _above_rounding(variances: Numbers) -> Numbers:
    """Variances of standardised scores; 0 where they are rounding errors."""
    return np.where(variances > NO_SPREAD, variances, 0.0)


class _Levels:
    """The distinct scores of a column in rising order, and the level of each row."""

    def __init__(self, scores: Numbers) -> None:
        self._order = np.argsort(scores, kind="stable")
        ordered = scores[self._order]
        is_new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        self._starts = np.flatnonzero(is_new)
        self.of_row = np.empty(len(scores), dtype=np.intp)
        self.of_row[self._order] = np.cumsum(is_new) - 1

    def weights(self, times: Numbers) -> Numbers:
        return np.asarray(np.add.reduceat(times[self._order], self._starts, axis=0))


def _spearman(metric: Numbers, expert: Numbers, case: Positions, cases: int) -> Statistic:  # noqa: ARG001
    """Pearson of mid-ranks, which change with every resample.

    Ranks are centred, so their mean is 0 and the sum of their squares is
    (n^3 - sum of t^3) / 12 over the sizes t of ties.
    """
    x, y = _Levels(metric), _Levels(expert)

    def value(times: Numbers) -> Numbers:
        rows = times[case]
        in_x, in_y = x.weights(rows), y.weights(rows)
        ranks = _middle_ranks(in_x)[x.of_row]
        ranks *= _middle_ranks(in_y)[y.of_row]
        cube = rows.sum(axis=0) ** 3
        spread_x, spread_y = (
            cube - np.einsum("lb,lb,lb->b", ties, ties, ties) for ties in (in_x, in_y)
        )
        spread = spread_x * spread_y
        products = np.einsum("rb,rb->b", rows, ranks)
        return np.clip(ratio(12 * products, np.sqrt(spread)), -1, 1)

    return lambda times: in_blocks(value, times, len(metric))


def _middle_ranks(weights: Numbers) -> Numbers:
    ranks = np.cumsum(weights, axis=0)
    middle = ranks[-1] / 2
    ranks -= weights / 2
    ranks -= middle
    return ranks


def _kendall(metric: Numbers, expert: Numbers, case: Positions, cases: int) -> Statistic:
    """Concordant minus discordant pairs of rows, over those not tied on either side."""
    total = pair_sums(signs(metric) * signs(expert), case, cases)
    x, y = _untied(metric, case, cases), _untied(expert, case, cases)
    return lambda times: np.clip(ratio(total(times), np.sqrt(x(times) * y(times))), -1, 1)


def _untied(scores: Numbers, case: Positions, cases: int) -> Statistic:
    """Number of untied ordered pairs; a row drawn twice is tied with itself."""
    of_row = _Levels(scores).of_row
    sizes = np.bincount(of_row)
    of_case = np.bincount(case, minlength=cases).astype(np.float64)
    singles = np.bincount(case[sizes[of_row] == 1], minlength=cases).astype(np.float64)
    tied_counts = np.zeros((len(sizes), cases))
    np.add.at(tied_counts, (of_row, case), 1.0)
    tied_counts = tied_counts[sizes > 1]

    def untied(times: Numbers) -> Numbers:
        ties = tied_counts @ times
        squares = np.einsum("lb,lb->b", ties, ties)
        return np.asarray((of_case @ times) ** 2 - singles @ (times * times) - squares)

    return untied


def signs(scores: Numbers) -> np.ndarray[tuple[int, int], np.dtype[np.int8]]:
    is_more = scores[:, None] > scores
    return is_more.astype(np.int8) - is_more.T.astype(np.int8)
