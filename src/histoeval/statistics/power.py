"""How many pairs it would take to tell two metrics apart.

Sheets of other sizes are made by drawing cases from the stored scores; the share of them on which
the test finds a difference is its power there. The difference that the scores show is taken for
the true one. It rarely is: of two metrics that were picked for differing, it is too large.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import Coefficient, scores_of
from histoeval.statistics.resampling import FEWEST_CASES, Statistic, resample
from histoeval.statistics.significance import (
    LEVEL,
    difference_obstacle,
    reaches,
    swapped_difference,
)

TARGET = 0.8
SIMULATIONS = 400
PERMUTATIONS = 199
LARGEST = 32
"""No sheet of more than so many times the cases there are is tried."""

CLOSE = 1.1
"""Two numbers of cases whose quotient is no more are near enough."""

LEAST_DIFFERENCE = 1e-9


class PowerStep(Noun):
    """A number of cases, and the share of such sheets on which a difference is found."""

    cases: int
    power: FiniteFloat


class SampleSize(Noun):
    """How many cases and pairs are needed; None, with a reason, where no number tried will do."""

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
    progress: Progress = lambda step: None,  # noqa: ARG005 - who wants none need not say so
) -> SampleSize:
    """Pairs for the test by permutation of cases to find the difference of two metrics.

    `progress` is called after each number of cases that was tried.
    """
    x, y, z = scores_of(one, other, expert)
    if not 0 < target < 1 or simulations < 1:
        raise SettingError("power lies between 0 and 1, and one simulation is the least")
    if reason := difference_obstacle(x, y, z):
        return SampleSize(reason=reason)
    unit = resample(cases, 1).case
    units = int(unit.max()) + 1
    if units < FEWEST_CASES:
        return SampleSize(
            reason=f"there are {units} cases to draw from, and {FEWEST_CASES} are needed"
        )
    statistic = swapped_difference(coefficient, x, y, z, unit, units)
    whole = np.concatenate([np.ones((units, 1)), np.zeros((units, 1))])
    difference = float(statistic(whole)[0])
    if abs(difference) < LEAST_DIFFERENCE:
        return SampleSize(difference=difference, reason="the two metrics do not differ at all")

    def power(drawn: int) -> float:
        """The power with so many cases, told to whoever follows the search."""
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
    """The share of sheets of so many cases on which the test finds a difference."""
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
    """The least number of cases with enough power: double or halve, then close in."""
    steps = [PowerStep(cases=cases, power=power(cases))]
    too_few, enough = FEWEST_CASES, None
    while steps[-1].power < target and enough is None and steps[-1].cases < LARGEST * cases:
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
