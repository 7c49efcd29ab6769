"""Shares with bootstrap intervals by report.

Passages of one report are alike, and so are entities of one passage; drawn one by one they would
make an interval too narrow. So whole reports are drawn, each with all its counts.
"""

import numpy as np
from numpy.typing import NDArray

from histoeval.report import Noun
from histoeval.statistics.resampling import MIN_CASES, interval, resample

Counts = NDArray[np.float64]


class ReportEstimate(Noun):
    """A number with the bounds that hold 95 % of the resamples of reports."""

    value: float
    low: float | None = None
    high: float | None = None


def share_estimate(counts: Counts, draws: Counts) -> ReportEstimate | None:
    return ratio_estimate(counts.sum(axis=0), draws @ counts, len(counts))


def ratio_estimate(counts: Counts, drawn: Counts, cases: int) -> ReportEstimate | None:
    if not counts[1]:
        return None
    defined = drawn[drawn[:, 1] > 0]
    return estimate_of(counts[0] / counts[1], defined[:, 0] / defined[:, 1], cases)


def estimate_of(value: float, drawn: Counts, cases: int) -> ReportEstimate:
    defined = drawn[~np.isnan(drawn)]
    if cases < MIN_CASES or not len(defined):
        return ReportEstimate(value=float(value))
    low, high = interval(defined, cases)
    return ReportEstimate(value=float(value), low=low, high=high)


def draws_of(cases: int, resamples: int, seed: int) -> Counts:
    if cases < MIN_CASES or not resamples:
        return np.zeros((0, cases))
    return resample(range(cases), resamples, seed).times.T.astype(np.float64)
