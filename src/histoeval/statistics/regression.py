"""The straight line from a metric to experts, as in tables 6 and 7 of the HARE paper.

Both scores run from 0 to 1; the line is fitted by least squares to the pairs it is judged on. So
R^2 is the square of Pearson's r, and RMSE is the spread of the expert scores times
sqrt(1 - R^2): neither says how well the line would do on other pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import obstacle, scores_of
from histoeval.statistics.resampling import Numbers

Range = tuple[float, float]


class Regression(Noun):
    """A fitted line in 0-1 units, how much of the variance it explains, and its usual error."""

    r2: FiniteFloat | None = None
    rmse: FiniteFloat | None = None
    slope: FiniteFloat | None = None
    intercept: FiniteFloat | None = None
    reason: str | None = None


def regress(
    metric: ArrayLike,
    expert: ArrayLike,
    expert_range: Range,
    metric_range: Range | None = None,
) -> Regression:
    """Fit experts by the metric; a metric without a range runs from its lowest to its highest."""
    one, other = scores_of(metric, expert)
    if reason := obstacle(one, other):
        return Regression(reason=reason)
    x = normalise(one, metric_range or (float(one.min()), float(one.max())))
    y = normalise(other, expert_range)
    from_mean = x - x.mean()
    slope = float(from_mean @ (y - y.mean()) / (from_mean @ from_mean))
    intercept = float(y.mean() - slope * x.mean())
    missed = float(np.mean((y - intercept - slope * x) ** 2))
    return Regression(
        r2=1 - missed / float(y.var()), rmse=missed**0.5, slope=slope, intercept=intercept
    )


def normalise(scores: Numbers, within: Range) -> Numbers:
    """Scores from 0 to 1, where `within` are the lowest and the highest there can be."""
    low, high = within
    if not low < high:
        raise SettingError(f"scores cannot run from {low:g} to {high:g}")
    return np.asarray((scores - low) / (high - low))
