"""Tests of whether one of two metrics correlates better with experts.

| test | assumes independent | question |
|---|---|---|
| `perm_cases` | every case | PERM-BOTH of Deutsch, Dror and Roth (2021): are the metrics alike? |
| `bootstrap_difference` | every case | how large is the difference? |
| `williams` | every pair | the classical test for two Pearson correlations with one column |
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import FiniteFloat

from histoeval.errors import SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import (
    Coefficient,
    is_constant,
    scores_of,
    standardised,
    undefined_reason,
    weighted,
)
from histoeval.statistics.resampling import (
    MIN_CASES,
    PERMUTATIONS,
    Estimate,
    Numbers,
    Positions,
    Resamples,
    Statistic,
    estimated,
    resample,
    resampled,
)

LEVEL = 0.05
_ROUNDING = 1e-12  # differences closer than this are equal


def perm_cases(
    coefficient: Coefficient,
    one: ArrayLike,
    other: ArrayLike,
    expert: ArrayLike,
    cases: Sequence[Hashable],
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Estimate:
    """The difference of two correlations, and p from swapping the metrics on whole cases.

    Scores, or for Spearman their ranks, are standardised first, so that metrics of different
    scales can be swapped. The data count as one of the permutations, so p is never 0.
    """
    x, y, z = scores_of(one, other, expert)
    if reason := difference_undefined(x, y, z):
        return Estimate(reason=reason)
    if permutations < 1:
        raise SettingError(f"{permutations} permutations cannot be made: give 1 or more")
    source = np.random.default_rng(seed)
    statistic, unit, units, observed = _swapping(coefficient, x, y, z, cases)
    kept_counts = source.integers(0, 2, (units, permutations), dtype=np.uint16)
    swaps = Resamples(np.tile(unit, 2), np.concatenate([kept_counts, 1 - kept_counts]))
    as_extreme = int(reaches(resampled(statistic, swaps), observed).sum())
    return Estimate(value=observed, p=(1 + as_extreme) / (1 + permutations))


def _swapping(
    coefficient: Coefficient, x: Numbers, y: Numbers, z: Numbers, cases: Sequence[Hashable]
) -> tuple[Statistic, Positions, int, float]:
    """The difference under swaps, the unit of each row, the number of units, and the difference."""
    unit = resample(cases, 1).case
    units = int(unit.max()) + 1
    statistic = swapped_difference(coefficient, x, y, z, unit, units)
    unswapped = np.concatenate([np.ones((units, 1)), np.zeros((units, 1))])
    return statistic, unit, units, float(statistic(unswapped)[0])


def reaches(values: Numbers, observed: float) -> NDArray[np.bool_]:
    """True for differences at least as large as the observed one, in either direction."""
    return np.abs(values) >= abs(observed) - _ROUNDING


def swapped_difference(
    coefficient: Coefficient,
    one: Numbers,
    other: Numbers,
    expert: Numbers,
    unit: Positions,
    units: int,
) -> Statistic:
    """The difference of correlations as a function of how often each unit is kept or swapped.

    The first half of the weights is how often each unit is kept, the second how often it is
    swapped. Both metrics' scores form one long column: a metric after swapping is a selection from
    it, and the other metric is the rest. For Spearman, ranks are swapped: metrics of any shape
    are then alike, and no score is ever ranked again.
    """
    if coefficient is Coefficient.SPEARMAN:
        from scipy.stats import rankdata

        one, other, expert = rankdata(one), rankdata(other), rankdata(expert)
        coefficient = Coefficient.PEARSON
    pool = np.concatenate([standardised(one), standardised(other)])
    correlation = weighted(
        coefficient, pool, np.tile(expert, 2), np.concatenate([unit, unit + units]), 2 * units
    )

    def difference(times: Numbers) -> Numbers:
        return correlation(times) - correlation(np.roll(times, units, axis=0))

    return difference


def difference_undefined(one: Numbers, other: Numbers, expert: Numbers) -> str | None:
    if reason := undefined_reason(one, expert):
        return reason
    return "the other metric gives all pairs the same score" if is_constant(other) else None


def bootstrap_difference(
    coefficient: Coefficient,
    one: ArrayLike,
    other: ArrayLike,
    expert: ArrayLike,
    resamples: Resamples,
    known: dict[bytes, Numbers] | None = None,
) -> Estimate:
    """Difference of two correlations by bootstrap; `known` caches resampled correlations."""
    x, y, z, _ = scores_of(one, other, expert, resamples.case)
    if reason := difference_undefined(x, y, z):
        return Estimate(reason=reason)
    if np.array_equal(x, y):
        return Estimate(value=0.0, low=0.0, high=0.0, p=1.0)
    known = {} if known is None else known
    ones = np.ones((len(resamples.times), 1))

    def values(metric: Numbers) -> Numbers:
        key = metric.tobytes() + z.tobytes()
        if key not in known:
            statistic = weighted(coefficient, metric, z, resamples.case, len(resamples.times))
            known[key] = np.concatenate([statistic(ones), resampled(statistic, resamples)])
        return known[key]

    observed, *differences = values(x) - values(y)
    cases = len(np.unique(resamples.case))
    return estimated(float(observed), np.array(differences), cases, null=0.0)


def williams(one: ArrayLike, other: ArrayLike, expert: ArrayLike) -> Estimate:
    """Williams's test, for independent pairs: several pairs of a case inflate significance."""
    from scipy.special import stdtr

    x, y, z = scores_of(one, other, expert)
    if reason := difference_undefined(x, y, z):
        return Estimate(reason=reason)
    n = len(x)
    r_xz, r_yz, r_xy = (float(np.corrcoef(a, b)[0, 1]) for a, b in ((x, z), (y, z), (x, y)))
    if 1 - abs(r_xy) < _ROUNDING:
        return Estimate(value=r_xz - r_yz, reason="one metric is the other on another scale")
    determinant = 1 - r_xz**2 - r_yz**2 - r_xy**2 + 2 * r_xz * r_yz * r_xy
    mean = (r_xz + r_yz) / 2
    spread = 2 * determinant * (n - 1) / (n - 3) + mean**2 * (1 - r_xy) ** 3
    t = (r_xz - r_yz) * np.sqrt((n - 1) * (1 + r_xy) / spread)
    return Estimate(value=r_xz - r_yz, p=float(2 * stdtr(n - 3, -abs(t))))


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    tests = sorted((p, test) for test, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for index, (p, test) in enumerate(tests):
        highest = max(highest, min(1.0, p * (len(tests) - index)))
        corrected[test] = highest
    return corrected


def significance_clusters(
    values: Mapping[str, float],
    p_values: Mapping[frozenset[str], float | None],
    level: float = LEVEL,
) -> dict[str, int]:
    """Ranks from best to worst, as in the WMT metrics task.

    A metric opens a new rank if some metric of the current rank is significantly better; a pair
    without a p-value is not.
    """
    ranks: dict[str, int] = {}
    current: list[str] = []
    for name in sorted(values, key=lambda name: (-values[name], name)):
        comparisons = (p_values.get(frozenset({name, rival})) for rival in current)
        if any(p is not None and p <= level for p in comparisons):
            current = []
        current.append(name)
        ranks[name] = max(ranks.values(), default=0) + (len(current) == 1)
    return ranks


TARGET = 0.8
SIMULATIONS = 400
PERMUTATIONS = 199
MAX_GROWTH = 32  # the largest simulated sheet, as a multiple of the cases
CLOSE = 1.1  # the search stops when the quotient of its bounds is below this
MIN_DIFFERENCE = 1e-9


class PowerStep(Noun):
    cases: int
    power: FiniteFloat


class SampleSize(Noun):
    """The cases and pairs needed; None, with a reason, if no simulated number is enough."""

    cases: int | None = None
    pairs: int | None = None
    difference: FiniteFloat | None = None
    steps: tuple[PowerStep, ...] = ()
    reason: str | None = None


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
) -> SampleSize:
    """Pairs needed for the permutation test by case to find the difference of two metrics."""
    x, y, z = scores_of(one, other, expert)
    if not 0 < target < 1 or simulations < 1:
        raise SettingError("power must be between 0 and 1, and simulations at least 1")
    if reason := difference_undefined(x, y, z):
        return SampleSize(reason=reason)
    statistic, _, units, difference = _swapping(coefficient, x, y, z, cases)
    if units < MIN_CASES:
        return SampleSize(
            reason=f"there are {units} cases to draw from, and {MIN_CASES} are needed"
        )
    if abs(difference) < MIN_DIFFERENCE:
        return SampleSize(difference=difference, reason="the two metrics do not differ at all")

    def step_at(cases: int) -> PowerStep:
        power = power_at(statistic, units, cases, level, simulations, seed)
        return PowerStep(cases=cases, power=power)

    needed, steps = _search(step_at, units, target)
    pairs = None if needed is None else -(-needed * len(x) // units)
    reason = None
    if not needed:
        reason = (
            f"with {steps[-1].cases} cases, a difference of {difference:.3f} is found "
            f"{steps[-1].power:.0%} of the time, and more are not tried"
        )
    return SampleSize(cases=needed, pairs=pairs, difference=difference, steps=steps, reason=reason)


def power_at(
    statistic: Statistic, units: int, drawn: int, level: float, simulations: int, seed: int
) -> float:
    """The share of simulated sheets of this many cases on which the test finds a difference."""
    source = np.random.default_rng([seed, drawn])
    detected = 0
    for _ in range(simulations):
        times = source.multinomial(drawn, np.full(units, 1 / units))[:, None]
        kept_counts = source.binomial(times, 0.5, (units, PERMUTATIONS))
        kept_columns = np.concatenate([times, kept_counts], axis=1)
        values = statistic(np.concatenate([kept_columns, times - kept_columns]).astype(np.float64))
        if np.isnan(values[0]):
            continue
        p = (1 + reaches(values[1:], float(values[0])).sum()) / (1 + PERMUTATIONS)
        detected += bool(p <= level)
    return detected / simulations


def _search(
    step_at: Callable[[int], PowerStep], cases: int, target: float
) -> tuple[int | None, tuple[PowerStep, ...]]:
    """The smallest number of cases with enough power: double, then bisect."""
    steps = [step_at(cases)]
    too_few = MIN_CASES
    while steps[-1].power < target and steps[-1].cases < MAX_GROWTH * cases:
        too_few = steps[-1].cases
        steps.append(step_at(2 * too_few))
    if steps[-1].power < target:
        return None, tuple(steps)
    enough = steps[-1].cases
    while enough > CLOSE * too_few and enough - too_few > 1:
        middle = max(too_few + 1, min(enough - 1, round((enough * too_few) ** 0.5)))
        steps.append(step_at(middle))
        if steps[-1].power < target:
            too_few = middle
        else:
            enough = middle
    return enough, tuple(steps)
