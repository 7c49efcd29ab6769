"""Which of several systems writes better reports, by one metric.

Systems are compared on the pairs that all of them have. Reports on one case stay together in
resamples and permutations.
"""

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import FiniteFloat

from histoeval.errors import InputError, SettingError
from histoeval.report import Noun
from histoeval.statistics.correlation import mean_of
from histoeval.statistics.resampling import (
    PERMUTATIONS,
    RESAMPLES,
    Estimate,
    Numbers,
    Resamples,
    by_case,
    estimate,
    in_blocks,
    resample,
)
from histoeval.statistics.significance import LEVEL, holm, significance_clusters

Sides = NDArray[np.int8]
"""Cases x permutations: 0 where two systems are swapped, 1 where they are not."""

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
    """All systems, the best first, and every two of them."""

    pairs: int
    cases: int
    systems: tuple[SystemScore, ...]
    duels: tuple[Duel, ...]


def contest(
    scores: Mapping[str, ArrayLike],
    cases: Sequence[Hashable],
    *,
    tie: float = 0.0,
    resamples: int = RESAMPLES,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Contest:
    """Compare systems, whose scores are columns of the same pairs; higher is better.

    Scores that differ by no more than `tie` count as ties.
    """
    columns = {name: np.asarray(column, dtype=np.float64) for name, column in scores.items()}
    _check(columns, cases)
    drawn = resample(cases, resamples, seed)
    sides = random_sides(len(drawn.times), permutations, seed)
    means = {name: estimate(mean_of(column, drawn), drawn) for name, column in columns.items()}
    duels = _corrected(
        [
            _duel((one, columns[one]), (other, columns[other]), drawn, tie, sides)
            for one, other in combinations(columns, 2)
        ]
    )
    known = {frozenset({duel.one, duel.other}): duel.holm for duel in duels}
    values = {name: float(column.mean()) for name, column in columns.items()}
    ranks = significance_clusters(values, known, LEVEL)
    return Contest(
        pairs=len(cases),
        cases=len(drawn.times),
        systems=tuple(
            SystemScore(system=name, mean=means[name], rank=place) for name, place in ranks.items()
        ),
        duels=tuple(duels),
    )


def _check(columns: Mapping[str, Numbers], cases: Sequence[Hashable]) -> None:
    if len(columns) < 2:
        raise SettingError("a comparison needs at least two systems")
    if not len(cases):
        raise InputError("the systems have no pair in common")
    for name, column in columns.items():
        if column.shape != (len(cases),) or not np.isfinite(column).all():
            raise SettingError(f"{name} must have one finite score for each pair")


def _duel(
    one: tuple[str, Numbers],
    other: tuple[str, Numbers],
    drawn: Resamples,
    tie: float,
    sides: Sides,
) -> Duel:
    apart = one[1] - other[1]
    same = bool(np.abs(apart).max() <= _ROUNDING)
    spread = float(apart.std(ddof=1)) if len(apart) > 1 else 0.0
    return Duel(
        one=one[0],
        other=other[0],
        difference=Estimate(value=0.0, low=0.0, high=0.0, p=1.0)
        if same
        else estimate(mean_of(apart, drawn), drawn, null=0.0),
        p=randomisation_p(apart, drawn, sides),
        effect=float(apart.mean()) / spread if spread > _ROUNDING else (0.0 if same else None),
        wins=int((apart > tie + _ROUNDING).sum()),
        ties=int((np.abs(apart) <= tie + _ROUNDING).sum()),
        losses=int((apart < -tie - _ROUNDING).sum()),
    )


def random_sides(cases: int, permutations: int, seed: int) -> Sides:
    """Which of two systems is which on every case, in every permutation."""
    if permutations < 1:
        raise SettingError(f"{permutations} permutations cannot be made: give 1 or more")
    return np.random.default_rng(seed).integers(0, 2, (cases, permutations), dtype=np.int8)


def randomisation_p(apart: Numbers, drawn: Resamples, sides: Sides) -> float:
    """How often a difference is as large when the systems are swapped on random cases.

    The data count as one of the permutations, so p is never 0.
    """
    sums = by_case(apart[:, None], drawn.case, len(drawn.times))[:, 0]
    totals = in_blocks(lambda flips: sums @ (2 * flips - 1), sides, len(sums))
    least = abs(float(sums.sum())) - _ROUNDING * max(1.0, float(np.abs(sums).sum()))
    return (1 + int((np.abs(totals) >= least).sum())) / (1 + len(totals))


def _corrected(duels: Sequence[Duel]) -> list[Duel]:
    return [
        duel.model_copy(update={"holm": p})
        for duel, p in zip(duels, holm([duel.p for duel in duels]), strict=True)
    ]
