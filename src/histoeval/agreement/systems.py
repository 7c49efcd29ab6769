"""Comparison of several systems by one metric.

Systems are compared on the pairs that all of them have. Reports on one case stay together in
resamples and permutations.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from pydantic import FiniteFloat

from histoeval.errors import InputError, SettingError
from histoeval.report import Noun
from histoeval.statistics.resampling import (
    PERMUTATIONS,
    RESAMPLES,
    VALUES_KEPT,
    Estimate,
    Numbers,
    Positions,
    by_case,
    mean_estimates,
)
from histoeval.statistics.significance import LEVEL, holm, significance_clusters

_CASES = 64  # cases whose swaps are drawn together: the same draws for every multiple of 4
_ROUNDING = 1e-12


class Duel(Noun):
    """Two systems on the same pairs: the first minus the second.

    `p` is from swapping the two on whole cases (approximate randomisation), `holm` the same
    corrected for all duels; the p of `difference` is from resampling. `effect` is the mean
    difference in units of its spread over pairs (Cohen's d for paired scores).
    """

    one: str
    other: str
    difference: Estimate
    p: FiniteFloat | None = None
    holm: FiniteFloat | None = None
    effect: FiniteFloat | None = None
    wins: int
    ties: int
    losses: int


class SystemScore(Noun):
    """The mean of one system, and its rank, shared with those that do not differ significantly."""

    system: str
    mean: Estimate
    rank: int


class Contest(Noun):
    pairs: int
    cases: int
    systems: tuple[SystemScore, ...]
    duels: tuple[Duel, ...]


def contest(
    scores: Mapping[str, ArrayLike],
    cases: Sequence[str] | Sequence[int],
    *,
    tie: float = 0.0,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Contest:
    """Compare systems, whose scores are columns of the same pairs; higher is better.

    Scores that differ by no more than `tie` count as ties. The order of pairs changes no number.
    """
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in scores.items()}
    if len(columns) < 2:
        raise SettingError("a comparison needs at least two systems")
    if not len(cases):
        raise InputError("the systems have no pair in common")
    for name, column in columns.items():
        if column.shape != (len(cases),) or not np.isfinite(column).all():
            raise SettingError(f"{name} must have one finite score for each pair")
    _, case = np.unique(np.asarray(cases), return_inverse=True)
    pairs = list(combinations(columns, 2))
    differences = np.stack([columns[first] - columns[second] for first, second in pairs], axis=1)
    estimates = mean_estimates(
        np.column_stack([*columns.values(), differences]),
        case,
        [None] * len(columns) + [0.0] * len(pairs),
        resamples,
        seed,
    )
    means = dict(zip(columns, estimates, strict=False))
    p_values = randomisation_p(differences, case, permutations, seed)
    corrected = holm(p_values)
    duels = []
    for position, (first, second) in enumerate(pairs):
        gaps, difference = differences[:, position], estimates[len(columns) + position]
        spread = float(gaps.std(ddof=1)) if len(gaps) > 1 else 0.0
        effect = float(gaps.mean()) / spread if spread > _ROUNDING else None
        if np.abs(gaps).max() <= _ROUNDING:
            difference = Estimate(value=0.0, low=0.0, high=0.0, p=1.0)
            effect = 0.0 if effect is None else effect
        duels.append(
            Duel(
                one=first,
                other=second,
                difference=difference,
                p=p_values[position],
                holm=corrected[position],
                effect=effect,
                wins=int((gaps > tie + _ROUNDING).sum()),
                ties=int((np.abs(gaps) <= tie + _ROUNDING).sum()),
                losses=int((gaps < -tie - _ROUNDING).sum()),
            )
        )
    corrected_p = {frozenset({duel.one, duel.other}): duel.holm for duel in duels}
    values = {name: float(column.mean()) for name, column in columns.items()}
    ranks = significance_clusters(values, corrected_p, LEVEL)
    return Contest(
        pairs=len(cases),
        cases=int(case.max()) + 1,
        systems=tuple(
            SystemScore(system=name, mean=means[name], rank=position)
            for name, position in ranks.items()
        ),
        duels=tuple(duels),
    )


def randomisation_p(apart: Numbers, case: Positions, permutations: int, seed: int) -> list[float]:
    """The share of random swaps that reach each difference (a column); the data count as one."""
    if permutations < 1:
        raise SettingError(f"{permutations} permutations cannot be made: give 1 or more")
    if apart.shape[1] > (limit := max(1, VALUES_KEPT // permutations)):
        blocks = (apart[:, :limit], apart[:, limit:])
        return [p for part in blocks for p in randomisation_p(part, case, permutations, seed)]
    sums = by_case(apart, case, int(case.max()) + 1)
    source = np.random.default_rng(seed)
    totals = np.zeros((apart.shape[1], permutations))
    for first in range(0, len(sums), _CASES):
        block = sums[first : first + _CASES]
        sides = source.integers(0, 2, (len(block), permutations), dtype=np.int8)
        totals += block.T @ (2.0 * sides - 1.0)
    bound = np.abs(sums.sum(axis=0)) - _ROUNDING * np.maximum(1.0, np.abs(sums).sum(axis=0))
    counts = (np.abs(totals) >= bound[:, None]).sum(axis=1)
    return [(1 + int(count)) / (1 + permutations) for count in counts]
