"""The cluster bootstrap: estimates with intervals by resampling whole cases.

Reports on one case have similar scores; resampling rows would make intervals too narrow. So whole
cases are drawn with replacement. A resample is stored as how often each case was drawn: every
statistic here is a function of such counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun

Numbers = NDArray[np.float64]
Positions = NDArray[np.intp]
# from how often each case was drawn (cases x resamples) to one value for each resample. NaN stands
# for an undefined value; it never leaves this package
Statistic = Callable[[Numbers], Numbers]

COVERED = 0.95
RESAMPLES = PERMUTATIONS = 10_000  # default numbers, the same from Python and the shell
MIN_CASES = 4  # with fewer cases there are too few different resamples for an interval
MAX_UNDEFINED = 0.1  # share of undefined resamples above which there is no interval
_BLOCK = 80_000  # rows times resamples that are computed together: what fits the processor cache
_DRAW_BLOCK = 1_000_000  # draws at a time; another number would mean other draws
VALUES_KEPT = 10_000_000  # values of columns in all resamples that are kept at a time: 80 MB
_STRIP = 96  # rows of a matrix that are multiplied together
_EXACT_IN_SINGLE = 2**24  # in single precision, which is twice as fast


class Estimate(Noun):
    """A value, its 95 % interval, and its p-value.

    What is not defined is None, and `reason` says why.
    """

    value: FiniteFloat | None = None
    low: FiniteFloat | None = None
    high: FiniteFloat | None = None
    p: FiniteFloat | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Resamples:
    """The case of each row, and how often each case was drawn in each resample."""

    case: Positions
    times: NDArray[np.uint16]

    def of(self, rows: NDArray[np.bool_] | Positions) -> Resamples:
        """The same draws for some of the rows, as if a metric has no score for the others."""
        return replace(self, case=self.case[rows])


def resample(cases: Sequence[Hashable], resamples: int = RESAMPLES, seed: int = 0) -> Resamples:
    if resamples < 1:
        raise SettingError(f"{resamples} resamples cannot be drawn: give 1 or more")
    numbers: dict[Hashable, int] = {}
    case = np.array([numbers.setdefault(name, len(numbers)) for name in cases], dtype=np.intp)
    times = np.empty((len(numbers), resamples), dtype=np.uint16)
    for first, counts in _drawn_in_blocks(len(numbers), resamples, seed):
        times[:, first : first + counts.shape[1]] = counts
    return Resamples(case, times)


def _drawn_in_blocks(
    cases: int, resamples: int, seed: int
) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Counts of the draws of each case, some resamples at a time (cases x some), with the first."""
    source = np.random.default_rng(seed)
    step = max(1, _DRAW_BLOCK // max(1, cases))
    for first in range(0, resamples, step):
        block = min(step, resamples - first)
        drawn = source.integers(0, cases, (block, cases)) + cases * np.arange(block)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=block * cases).reshape(block, cases)
        yield first, counts.T


def mean_estimates(
    columns: Numbers,
    case: Positions,
    nulls: Sequence[float | None],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[Estimate]:
    """Estimate means without storing draws, which for a million rows would not fit in memory."""
    if columns.shape[1] > (limit := max(1, VALUES_KEPT // resamples)):
        return [
            *mean_estimates(columns[:, :limit], case, nulls[:limit], resamples, seed),
            *mean_estimates(columns[:, limit:], case, nulls[limit:], resamples, seed),
        ]
    cases = len(np.unique(case))
    sums = by_case(np.column_stack([np.ones(len(case)), columns]), case, cases)
    means = np.empty((columns.shape[1], resamples))
    if cases >= MIN_CASES:
        for first, counts in _drawn_in_blocks(cases, resamples, seed):
            rows, *totals = (counts.T.astype(np.float64) @ sums).T
            means[:, first : first + len(rows)] = totals / rows
    observed = columns.mean(axis=0)
    return [
        estimated(float(value), resampled_means, cases, null)
        for value, resampled_means, null in zip(observed, means, nulls, strict=True)
    ]


def estimate(statistic: Statistic, resamples: Resamples, null: float | None = None) -> Estimate:
    """A statistic on the data, its interval, and its p-value against `null` if given."""
    value = float(statistic(np.ones((len(resamples.times), 1)))[0])
    is_enough = len(resamples.times) >= MIN_CASES and not np.isnan(value)
    values = resampled(statistic, resamples) if is_enough else np.empty(0)
    return estimated(value, values, len(np.unique(resamples.case)), null)


def estimated(value: float, values: Numbers, cases: int, null: float | None = None) -> Estimate:
    """Estimate from the value on the data, those of all resamples, and the number of cases."""
    if np.isnan(value):
        return Estimate(reason="it is not defined for these scores")
    if cases < MIN_CASES:
        amount = "is one case" if cases == 1 else f"are {cases} cases"
        reason = f"no interval: there {amount} only, and {MIN_CASES} are needed"
        return Estimate(value=value, reason=reason)
    defined = values[~np.isnan(values)]
    if len(defined) < (1 - MAX_UNDEFINED) * len(values):
        reason = "no interval: too many resamples have constant scores only"
        return Estimate(value=value, reason=reason)
    low, high = interval(defined, cases)
    p = None if null is None else p_value(defined, cases, null)
    return Estimate(value=value, low=low, high=high, p=p)


def resampled(statistic: Statistic, resamples: Resamples) -> Numbers:
    return in_blocks(statistic, resamples.times, len(resamples.times))


def in_blocks(statistic: Statistic, times: NDArray[np.generic], rows: int) -> Numbers:
    """The statistic, block by block; `rows` is what it works on per resample."""
    step = max(1, _BLOCK // rows)
    blocks = (times[:, start : start + step] for start in range(0, times.shape[1], step))
    return np.concatenate([statistic(block.astype(np.float64)) for block in blocks])


def interval(values: Numbers, cases: int) -> tuple[float, float]:
    """Percentiles of resampled values, widened for few cases.

    Plain percentiles are too narrow by sqrt((n - 1) / n), and by the t against the normal
    distribution (expanded percentiles: Hesterberg 2015, section 4.1.3).
    """
    from scipy.special import ndtr, stdtrit

    tail = ndtr(stdtrit(cases - 1, (1 - COVERED) / 2) * np.sqrt(cases / (cases - 1)))
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)


def p_value(values: Numbers, cases: int, null: float) -> float:
    """The two-sided level at which the interval would just touch `null`; never 0."""
    from scipy.special import ndtri, stdtr

    lower = np.count_nonzero(values < null) + np.count_nonzero(values == null) / 2
    share = (min(lower, len(values) - lower) + 0.5) / (len(values) + 1)
    spread = ndtri(min(share, 0.5)) * np.sqrt((cases - 1) / cases)
    return float(2 * stdtr(cases - 1, spread))


def by_case(columns: Numbers, case: Positions, cases: int) -> Numbers:
    sums = np.zeros((cases, *columns.shape[1:]))
    np.add.at(sums, case, columns)
    return sums


def pair_sums(matrix: NDArray[np.int8], case: Positions, cases: int) -> Statistic:
    """Sums of a symmetric matrix over all ordered pairs of drawn rows, for each resample.

    The matrix is summed within cases first, and only its upper triangle is used. Integers stay
    exact: double precision is used as soon as single precision might not be enough.
    """
    order = np.argsort(case, kind="stable")
    present_cases, starts, sizes = np.unique(case[order], return_index=True, return_counts=True)
    sums = np.add.reduceat(matrix[order], starts, axis=0, dtype=np.float64)
    sums = np.add.reduceat(sums[:, order], starts, axis=1)
    largest = 2 * int(sizes.max()) ** 2 * cases * int(abs(matrix).max(initial=1))
    kind = np.float32 if largest < _EXACT_IN_SINGLE else np.float64
    sums = sums.astype(kind)
    strips: list[tuple[int, NDArray[Any]]] = []  # from the diagonal on; the rest counts twice
    for first in range(0, len(sums), _STRIP):
        strip = sums[first : first + _STRIP, first:].copy()
        strip[:, _STRIP:] *= 2
        strips.append((first, strip))

    def total(times: Numbers) -> Numbers:
        counts: NDArray[Any] = times[present_cases].astype(kind)
        totals = np.zeros(times.shape[1])
        for first, strip in strips:
            products = strip @ counts[first:]
            drawn_rows = counts[first : first + len(strip)]
            totals += np.einsum("cb,cb->b", drawn_rows, products, dtype=np.float64)
        return totals

    return total
