"""Agreement of experts with each other, and the ceiling that this sets for a metric.

Ratings are a table, rows by raters, with NaN for missing ratings. All measures are computed from
sums over cases, and so have intervals by case. They are written from the published definitions, as
no small library has them all.
"""

from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import MIN_PAIRS, ratio
from histoeval.statistics.resampling import (
    Estimate,
    Numbers,
    Resamples,
    Statistic,
    by_case,
    estimate,
)


class Ceiling(Noun):
    """The highest Pearson correlation with experts that can be expected of any metric.

    `one_rater` with the scores of one, `mean_of_raters` with the mean of all; `held_out` is the
    mean correlation of a rater with the mean of the others: human performance.
    """

    one_rater: FiniteFloat | None = None
    mean_of_raters: FiniteFloat | None = None
    held_out: FiniteFloat | None = None
    rows: int = 0
    reason: str | None = None


def krippendorff_alpha(ratings: ArrayLike, resamples: Resamples) -> Estimate:
    """Krippendorff's alpha for ordinal scores; rows may lack ratings."""
    table = _table(ratings, resamples)
    is_rated_twice = (~np.isnan(table)).sum(axis=1) > 1
    table, drawn = table[is_rated_twice], resamples.of(is_rated_twice)
    if reason := _undefined_reason(table):
        return Estimate(reason=reason)
    levels = np.unique(table[~np.isnan(table)])
    counts = (table[:, :, None] == levels).sum(axis=1).astype(np.float64)
    coincident = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(len(levels))
    coincident /= counts.sum(axis=1)[:, None, None] - 1
    sums = by_case(coincident.reshape(len(coincident), -1), drawn.case, len(drawn.times))

    def alpha(times: Numbers) -> Numbers:
        """Compute alpha from coincidences of levels, whose distance is that of their mid-ranks."""
        coincide = (times.T @ sums).reshape(-1, len(levels), len(levels))
        margin = coincide.sum(axis=2)
        middle = np.cumsum(margin, axis=1) - margin / 2
        distance = (middle[:, :, None] - middle[:, None, :]) ** 2
        observed = np.einsum("bck,bck->b", coincide, distance)
        expected = np.einsum("bc,bk,bck->b", margin, margin, distance)
        return 1 - ratio(observed * (margin.sum(axis=1) - 1), expected)

    return estimate(alpha, drawn)


def quadratic_kappa(ratings: ArrayLike, resamples: Resamples) -> Estimate:
    """Mean quadratic kappa over pairs of raters; an unused level still counts as a step."""
    table = _table(ratings, resamples)
    parts = []
    for raters in combinations(range(table.shape[1]), 2):
        is_complete = _complete(table[:, raters])
        pair = table[is_complete][:, raters]
        if _undefined_reason(pair) is None:
            parts.append(_kappa(pair, resamples.of(is_complete)))
    if not parts:
        return Estimate(reason=f"no two raters share {MIN_PAIRS} rows on which their scores vary")
    return estimate(lambda times: np.mean([part(times) for part in parts], axis=0), resamples)


def rater_biases(ratings: ArrayLike) -> list[float | None]:
    """Difference of each rater from the mean of the others, on rows they share."""
    table = np.asarray(ratings, dtype=np.float64)
    biases: list[float | None] = []
    for rater in range(table.shape[1]):
        other_ratings = np.delete(table, rater, axis=1)
        counts = (~np.isnan(other_ratings)).sum(axis=1)
        is_shared = (counts > 0) & ~np.isnan(table[:, rater])
        means = np.nansum(other_ratings[is_shared], axis=1) / counts[is_shared]
        biases.append(float((table[is_shared, rater] - means).mean()) if is_shared.any() else None)
    return biases


def kappas_of_pairs(ratings: ArrayLike) -> dict[tuple[int, int], tuple[int, float | None]]:
    """Number of shared rows and kappa (None if undefined) of every two raters."""
    table = np.asarray(ratings, dtype=np.float64)
    kappas = {}
    for raters in combinations(range(table.shape[1]), 2):
        pair = table[:, raters]
        pair = pair[_complete(pair)]
        is_defined = _undefined_reason(pair) is None
        kappas[raters] = len(pair), kappa_of_two(*pair.T) if is_defined else None
    return kappas


def kappa_of_two(one: ArrayLike, other: ArrayLike) -> float:
    """Cohen's kappa with quadratic weights, of two raters of the same rows; 1 if nothing varies."""
    pair = np.stack([np.asarray(one, float), np.asarray(other, float)], axis=1)
    times = np.ones((len(pair), 1))
    value = _kappa(pair, Resamples(np.arange(len(pair)), times.astype(np.uint16)))(times)[0]
    return 1.0 if np.isnan(value) else float(value)


def _kappa(pair: Numbers, resamples: Resamples) -> Statistic:
    """Quadratic kappa; chance is the mean squared difference of all rows with all rows."""
    a, b = (pair - pair.mean()).T
    columns = np.stack([np.ones_like(a), a, b, a * a + b * b, (a - b) ** 2], axis=1)
    sums = by_case(columns, resamples.case, len(resamples.times))

    def value(times: Numbers) -> Numbers:
        count, *totals = (times.T @ sums).T
        mean_a, mean_b, squares, squared_gaps = (ratio(column, count) for column in totals)
        return 1 - ratio(squared_gaps, squares - 2 * mean_a * mean_b)

    return value


def icc(ratings: ArrayLike, resamples: Resamples) -> Estimate:
    """ICC(2,1) of Shrout and Fleiss: absolute agreement of single raters, on complete rows."""
    table, drawn = _whole_rows(ratings, resamples)
    if reason := _undefined_reason(table):
        return Estimate(reason=reason)
    raters = table.shape[1]
    squares = _mean_squares(table, drawn)

    def value(times: Numbers) -> Numbers:
        count, rows, columns, error = squares(times)
        denominator = rows + (raters - 1) * error + raters * ratio(columns - error, count)
        return ratio(rows - error, denominator)

    return estimate(value, drawn)


def ceiling(ratings: ArrayLike, resamples: Resamples) -> Ceiling:
    """The root of consistency, ICC(3,1) and ICC(3,k): a stricter rater lowers no correlation."""
    table, drawn = _whole_rows(ratings, resamples)
    if reason := _undefined_reason(table):
        return Ceiling(rows=len(table), reason=reason)
    ones = np.ones((len(resamples.times), 1))
    _, (rows,), _, (error,) = _mean_squares(table, drawn)(ones)
    if rows <= 0:
        return Ceiling(rows=len(table), reason="raters cancel out: all rows have the same mean")
    raters = table.shape[1]
    single = (rows - error) / (rows + (raters - 1) * error)
    held_out = []
    for rater in range(raters):
        scores, other_means = table[:, rater], np.delete(table, rater, axis=1).mean(axis=1)
        if np.ptp(scores) > 0 and np.ptp(other_means) > 0:
            held_out.append(float(np.corrcoef(scores, other_means)[0, 1]))
    return Ceiling(
        one_rater=float(max(0.0, single) ** 0.5),
        mean_of_raters=float(max(0.0, 1 - error / rows) ** 0.5),
        held_out=float(np.mean(held_out)) if held_out else None,
        rows=len(table),
    )


def _mean_squares(table: Numbers, resamples: Resamples) -> Statistic:
    """Count of rows, and mean squares of rows, raters and error of a two-way table."""
    raters = table.shape[1]
    x = table - table.mean()
    means = x.mean(axis=1)
    columns = np.column_stack([np.ones(len(x)), means, means**2, (x**2).sum(axis=1), x])
    sums = by_case(columns, resamples.case, len(resamples.times))

    def value(times: Numbers) -> Numbers:
        count, total, squares, all_squares, *of_rater = (times.T @ sums).T
        grand = ratio(total, count)
        rows = raters * (squares - count * grand**2)
        between = sum((ratio(part, count) - grand) ** 2 for part in of_rater) * count
        error = np.maximum(all_squares - raters * count * grand**2 - rows - between, 0)
        return np.stack(
            [
                count,
                ratio(rows, count - 1),
                between / (raters - 1),
                ratio(error, (count - 1) * (raters - 1)),
            ]
        )

    return value


def _table(ratings: ArrayLike, resamples: Resamples) -> Numbers:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2 or len(table) != len(resamples.case):
        raise SettingError("ratings must be a table of rows by raters, with a case for each row")
    if np.isinf(table).any():
        raise SettingError("ratings must be finite, or NaN if missing")
    return table


def _whole_rows(ratings: ArrayLike, resamples: Resamples) -> tuple[Numbers, Resamples]:
    table = _table(ratings, resamples)
    is_complete = _complete(table)
    return table[is_complete], resamples.of(is_complete)


def _complete(table: Numbers) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(table).any(axis=1))


def _undefined_reason(table: Numbers) -> str | None:
    if table.shape[1] < 2:
        return "there is one rater only"
    if len(table) < MIN_PAIRS:
        return f"{len(table)} rows have all ratings needed, and {MIN_PAIRS} are required"
    if np.nanmin(table) == np.nanmax(table):
        return "all ratings are the same"
    return None
