"""From which trust on reports are deployed, and below which they are rejected: set on examples."""

from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from histoeval.pathgls.results import Share
from histoeval.report import Noun

Numbers = NDArray[np.float64]
Flags = NDArray[np.bool_]

MAX_DIGITS = 17
"""Enough digits to distinguish any two numbers."""

Price = Annotated[FiniteFloat, Field(ge=0)]


class Target(Noun):
    """How many mistakes are tolerated: shares of what is deployed, and of what is rejected.

    The upper end of the one-sided Clopper-Pearson interval must keep to the share, so that few
    examples deploy nothing. With a `confidence` of 0.5 the share itself must, as it was counted.
    """

    wrong_deployed: Share = 0.05
    right_rejected: Share = 0.05
    confidence: Annotated[float, Field(ge=0.5, lt=1.0)] = 0.95

    def __str__(self) -> str:
        sure = "" if self.confidence == 0.5 else f", by {self.confidence:.0%} confidence"
        return (
            f"at most {self.wrong_deployed:.1%} wrong among the deployed and "
            f"{self.right_rejected:.1%} right among the rejected{sure}"
        )


class Costs(Noun):
    """What mistakes cost: a wrong report deployed, any report reviewed, a right one rejected."""

    missed: Price
    review: Price
    lost: Price

    def __str__(self) -> str:
        return (
            f"least cost, with {self.missed:g} for a wrong report deployed, {self.review:g} for a "
            f"review and {self.lost:g} for a right report rejected"
        )


class Thresholds(NamedTuple):
    """Deploy from here on, or never; reject below there."""

    deploy_from: float | None
    reject_below: float


class _Steps(NamedTuple):
    """Distinct trust values in rising order, and what lies on either side of each of them.

    Above are only those that may be deployed at all.
    """

    values: Numbers
    below: Numbers
    right_below: Numbers
    above: Numbers
    wrong_above: Numbers


def set_thresholds(
    trust: Numbers, wrong: Flags, may_deploy: Flags, aim: Target | Costs
) -> Thresholds:
    """The two thresholds that serve an aim best on these examples.

    Those that a floor keeps from being deployed are reviewed, however high their trust.
    """
    steps = _steps(trust, wrong, may_deploy)
    if isinstance(aim, Costs):
        reject, deploy = _cheapest(steps, aim)
    else:
        reject, deploy = _within(steps, aim)
    count = len(steps.values)
    return Thresholds(
        deploy_from=None if deploy == count else _between(steps.values, deploy),
        reject_below=_between(steps.values, reject),
    )


def _steps(trust: Numbers, wrong: Flags, may_deploy: Flags) -> _Steps:
    values, at = np.unique(trust, return_inverse=True)

    def below(rows: Flags) -> Numbers:
        """How many rows lie below each possible threshold."""
        counts = np.bincount(at[rows], minlength=len(values))
        return np.concatenate([[0.0], np.cumsum(counts)])

    def above(rows: Flags) -> Numbers:
        """How many lie at or above it."""
        counted = below(rows)
        return np.asarray(counted[-1] - counted)

    everything = np.ones(len(trust), dtype=np.bool_)
    return _Steps(
        values, below(everything), below(~wrong), above(may_deploy), above(may_deploy & wrong)
    )


def _within(steps: _Steps, target: Target) -> tuple[int, int]:
    """The most that can be deployed, and then rejected, within the tolerated mistakes.

    A step is how many of the distinct values lie below the threshold.
    """
    wrong = _highest_share(steps.wrong_above, steps.above, target) <= target.wrong_deployed
    right = _highest_share(steps.right_below, steps.below, target) <= target.right_rejected
    deploy = len(steps.values)
    if wrong.any():  # of all steps that deploy the same reports, the highest
        deployed = steps.above[int(np.argmax(wrong))]
        deploy = int(np.flatnonzero(steps.above == deployed)[-1])
    rejectable = np.flatnonzero(right[: deploy + 1])
    return int(rejectable[-1]) if len(rejectable) else 0, deploy


def _highest_share(mistakes: Numbers, rows: Numbers, target: Target) -> Numbers:
    """The share of mistakes, or the upper end of its interval; of no rows there is none."""
    some = rows > 0
    if target.confidence == 0.5:
        shares = np.divide(mistakes, rows, out=np.full(len(rows), np.inf), where=some)
        return np.asarray(shares)
    from scipy import stats

    upper = stats.beta.ppf(target.confidence, mistakes + 1, np.maximum(rows - mistakes, 1e-9))
    return np.where(some, np.where(mistakes >= rows, 1.0, upper), np.inf)


def _cheapest(steps: _Steps, costs: Costs) -> tuple[int, int]:
    """The pair of steps that costs least beside reviewing everything; of equals, most review."""
    rejecting = costs.lost * steps.right_below - costs.review * steps.below
    deploying = costs.missed * steps.wrong_above - costs.review * steps.above
    best, found, at = np.inf, (0, len(steps.values)), 0
    for deploy in range(len(steps.values) + 1):
        if rejecting[deploy] < rejecting[at] - 1e-12:
            at = deploy
        cost = rejecting[at] + deploying[deploy]
        if cost <= best + 1e-12:
            best, found = min(best, cost), (at, deploy)
    return found


def _between(values: Numbers, step: int) -> float:
    """A short number above all values below a step, and not above the others."""
    if step == 0:
        return 0.0
    low = float(values[step - 1])
    high = float(values[step]) if step < len(values) else 1.0
    for digits in range(2, MAX_DIGITS):
        middle = round((low + high) / 2, digits)
        if low < middle <= high:
            return middle
    return high
