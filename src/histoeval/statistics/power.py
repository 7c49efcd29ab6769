"""Power analysis: how many pairs are needed to tell two metrics apart.

Sheets of other sizes are simulated by drawing cases from the stored scores; the share of them on
which the test finds a difference is its power. The observed difference is taken as the true one,
which is optimistic for metrics that were picked because they differ.
"""

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import Coefficient, scores_of
from histoeval.statistics.resampling import MIN_CASES, Statistic, resample
from histoeval.statistics.significance import (
    LEVEL,
    difference_undefined,
    reaches,
    swapped_difference,
)

TARGET = 0.8
SIMULATIONS = 400
PERMUTATIONS = 199
MAX_GROWTH = 32
"""The largest simulated sheet, as a multiple of the cases."""

CLOSE = 1.1
"""The search stops when the quotient of its bounds is below this."""

MIN_DIFFERENCE = 1e-9


class PowerStep(Noun):
    """A number of cases, and the power with it."""

    cases: int
    power: FiniteFloat


class SampleSize(Noun):
    """The cases and pairs needed; None, with a reason, if no simulated number is enough."""

    cases: int | None = None
    pairs: int | None = None
    difference: FiniteFloat | None = None
    steps: tuple[PowerStep, ...] = ()
    reason: str | None = None


Progress = Callable[[PowerStep], None]


def pairs_needed(
    coefficient: Coefficient,
    one: ArrayLike,
    other: ArrayLike,
    expert: ArrayLike,
    cases: Sequence[Hashable],
    *,
    target: float = TARGET,
    level: float = LEVEL,
    simulations: int = SIMULATIONS,
    seed: int = 0,
    progress: Progress = lambda step: None,  # noqa: ARG005
) -> SampleSize:
    """Pairs needed for the permutation test by case to find the difference of two metrics.

    `progress` is called after each simulated number of cases.
    """
    x, y, z = scores_of(one, other, expert)
    if not 0 < target < 1 or simulations < 1:
        raise SettingError("power must be between 0 and 1, and simulations at least 1")
    if reason := difference_undefined(x, y, z):
        return SampleSize(reason=reason)
    unit = resample(cases, 1).case
    units = int(unit.max()) + 1
    if units < MIN_CASES:
        return SampleSize(
            reason=f"there are {units} cases to draw from, and {MIN_CASES} are needed"
        )
    statistic = swapped_difference(coefficient, x, y, z, unit, units)
    whole = np.concatenate([np.ones((units, 1)), np.zeros((units, 1))])
    difference = float(statistic(whole)[0])
    if abs(difference) < MIN_DIFFERENCE:
        return SampleSize(difference=difference, reason="the two metrics do not differ at all")

    def power(drawn: int) -> float:
        found = power_at(statistic, units, drawn, level, simulations, seed)
        progress(PowerStep(cases=drawn, power=found))
        return found

    needed, steps = _search(power, units, target)
    pairs = None if needed is None else -(-needed * len(x) // units)
    reason = None if needed else _out_of_reach(steps, difference)
    return SampleSize(cases=needed, pairs=pairs, difference=difference, steps=steps, reason=reason)


def _out_of_reach(steps: Sequence[PowerStep], difference: float) -> str:
    return (
        f"with {steps[-1].cases} cases, a difference of {difference:.3f} is found "
        f"{steps[-1].power:.0%} of the time, and more are not tried"
    )


def power_at(
    statistic: Statistic, units: int, drawn: int, level: float, simulations: int, seed: int
) -> float:
    """The share of simulated sheets of this many cases on which the test finds a difference."""
    source = np.random.default_rng([seed, drawn])
    found = 0
    for _ in range(simulations):
        times = source.multinomial(drawn, np.full(units, 1 / units))[:, None]
        kept = source.binomial(times, 0.5, (units, PERMUTATIONS))
        own = np.concatenate([times, kept], axis=1)
        values = statistic(np.concatenate([own, times - own]).astype(np.float64))
        if np.isnan(values[0]):
            continue
        p = (1 + reaches(values[1:], float(values[0])).sum()) / (1 + PERMUTATIONS)
        found += bool(p <= level)
    return found / simulations


def _search(
    power: Callable[[int], float], cases: int, target: float
) -> tuple[int | None, tuple[PowerStep, ...]]:
    """The smallest number of cases with enough power: double, then bisect."""
    steps = [PowerStep(cases=cases, power=power(cases))]
    too_few, enough = MIN_CASES, None
    while steps[-1].power < target and enough is None and steps[-1].cases < MAX_GROWTH * cases:
        too_few = steps[-1].cases
        steps.append(PowerStep(cases=2 * too_few, power=power(2 * too_few)))
    if steps[-1].power < target:
        return None, tuple(steps)
    enough = steps[-1].cases
    while enough > CLOSE * too_few and enough - too_few > 1:
        middle = max(too_few + 1, min(enough - 1, round((enough * too_few) ** 0.5)))
        steps.append(PowerStep(cases=middle, power=power(middle)))
        if steps[-1].power < target:
            too_few = middle
        else:
            enough = middle
    return enough, tuple(steps)
