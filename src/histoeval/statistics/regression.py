"""Linear regression of experts on a metric, as in tables 6 and 7 of the HARE paper.

Both scores are scaled to 0-1; the line is evaluated on the pairs it is fitted to. So R^2 is the
square of Pearson's r, and RMSE is the standard deviation of the expert scores times sqrt(1 - R^2):
neither says how well the line would do on other pairs.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import scores_of, undefined_reason
from histoeval.statistics.resampling import Numbers

Range = tuple[float, float]


class Regression(Noun):
    r2: FiniteFloat | None = None
    rmse: FiniteFloat | None = None
    slope: FiniteFloat | None = None
    intercept: FiniteFloat | None = None
    reason: str | None = None


def regress(
    metric: ArrayLike, expert: ArrayLike, expert_range: Range, metric_range: Range | None = None
) -> Regression:
    """Fit experts by the metric; the default range is from its lowest to its highest score."""
    scores, expert_scores = scores_of(metric, expert)
    if reason := undefined_reason(scores, expert_scores):
        return Regression(reason=reason)
    x = normalise(scores, metric_range or (float(scores.min()), float(scores.max())))
    y = normalise(expert_scores, expert_range)
    from_mean = x - x.mean()
    slope = float(from_mean @ (y - y.mean()) / (from_mean @ from_mean))
    intercept = float(y.mean() - slope * x.mean())
    mse = float(np.mean((y - intercept - slope * x) ** 2))
    return Regression(r2=1 - mse / float(y.var()), rmse=mse**0.5, slope=slope, intercept=intercept)


def normalise(scores: Numbers, within: Range) -> Numbers:
    low, high = within
    if not low < high:
        raise SettingError(f"the range of scores cannot be from {low:g} to {high:g}")
    return np.asarray((scores - low) / (high - low))


Floats = NDArray[np.float64]

_DAMPING = 1e-6  # keeps Newton's method from dividing by nothing where all values are alike
_MOST_STEPS = 200


def fit_logistic(
    values: Floats, targets: Floats, weights: Floats | None = None, *, ridge: float = 0.0
) -> tuple[float, float]:
    """Slope and offset of the likeliest logistic curve; a `ridge` keeps it from becoming a step."""
    design = np.stack([values, np.ones_like(values)], axis=1)
    weight = np.ones_like(values) if weights is None else weights

    def cost(line: Floats) -> float:
        odds = design @ line
        return float(weight @ (np.logaddexp(0, odds) - targets * odds) + ridge / 2 * line @ line)

    line = np.array([1.0, 0.0])
    for _ in range(_MOST_STEPS):
        chances = logistic(design @ line)
        slope = design.T @ (weight * (chances - targets)) + ridge * line
        bend = (design * (weight * chances * (1 - chances))[:, None]).T @ design
        step = np.linalg.solve(bend + _DAMPING * np.eye(2), slope)
        while cost(line - step) > cost(line) + 1e-12 and np.abs(step).max() > 1e-12:
            step = step / 2
        line = line - step
        if np.abs(step).max() < 1e-9:
            break
    return float(line[0]), float(line[1])


def logistic(odds: Floats) -> Floats:
    """Log odds as probabilities; beyond 30 nothing changes."""
    return np.asarray(1 / (1 + np.exp(-np.clip(odds, -30, 30))), np.float64)
