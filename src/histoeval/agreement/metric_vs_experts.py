"""How well one metric agrees with experts."""

from collections.abc import Sequence
from itertools import combinations
from math import ceil

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from histoeval.agreement.panel import Column, Panel
from histoeval.report import Noun
from histoeval.runtime.threads import side_by_side
from histoeval.statistics.correlation import (
    Coefficient,
    classical_p,
    correlate,
    correlate_within,
    scores_of,
)
from histoeval.statistics.pairwise import Accuracy, pairwise_accuracy, pairwise_accuracy_within
from histoeval.statistics.regression import Range, regress
from histoeval.statistics.resampling import PERMUTATIONS, Estimate, Numbers, Resamples
from histoeval.statistics.significance import (
    LEVEL,
    bootstrap_difference,
    holm,
    perm_both,
    perm_cases,
    significance_clusters,
    williams,
)

MOST_APART = 5
"""Pairs named on which a metric and the experts differ most."""


class Correlation(Estimate):
    """A correlation with experts.

    `p_rows` is what papers print: it assumes independent rows. `p` is the one to use: the same if
    every group is one row, and else from resampled groups.
    """

    p_rows: FiniteFloat | None = None


class Within(Noun):
    """The mean over groups of the agreement within each: which of its reports is best?"""

    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    pairwise: Accuracy


class Disagreement(Noun):
    """A pair that a metric and the experts place differently.

    `gap` is the difference of their percentile ranks: above 0, the metric praises it more.
    """

    id: str
    system: str = ""
    score: FiniteFloat
    expert: FiniteFloat
    gap: FiniteFloat


class MetricVsExperts(Noun):
    """The agreement of a metric with experts; what is not defined is None, with a reason."""

    metric: str
    signature: str = ""
    n: int
    cases: int
    coverage: FiniteFloat
    pearson: Correlation
    spearman: Correlation
    kendall: Correlation
    r2: FiniteFloat | None = None
    rmse: FiniteFloat | None = None
    slope: FiniteFloat | None = None
    intercept: FiniteFloat | None = None
    pairwise: Accuracy
    ties: FiniteFloat | None = None
    within: Within | None = None
    apart: tuple[Disagreement, ...] = ()
    """The pairs on which it and the experts differ most."""
    reason: str | None = None

    @property
    def falls(self) -> bool:
        """Whether the line from its score to the experts' runs the wrong way."""
        return self.slope is not None and self.slope < 0

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        """Pearson, Spearman and Kendall."""
        return self.pearson, self.spearman, self.kendall

    def coefficient(self, which: Coefficient) -> Correlation:
        """One of its correlations."""
        found: Correlation = getattr(self, which.value)
        return found


def follow(name: str, panel: Panel, expert_range: Range, resamples: Resamples) -> MetricVsExperts:
    """The agreement of one metric, on the rows that it has scored."""
    column = panel.metrics[name]
    rows = scored(column)
    metric, expert = scores_of(column.rising[rows], panel.expert[rows])
    drawn = resamples.of(rows)
    line = regress(metric, expert, expert_range, _oriented_range(column))
    found = {which.value: _correlation(which, metric, expert, drawn) for which in Coefficient}
    return MetricVsExperts(
        metric=name,
        signature=column.signature,
        n=int(rows.sum()),
        cases=len(np.unique(drawn.case)),
        coverage=float(rows.mean()) if len(rows) else 0.0,
        **found,
        pairwise=pairwise_accuracy(metric, expert, drawn),
        ties=share_of_ties(metric),
        **line.model_dump(),
    )


def follow_within(name: str, panel: Panel, resamples: Resamples) -> Within:
    """The agreement within each group."""
    column = panel.metrics[name]
    rows = scored(column)
    metric, expert, drawn = column.rising[rows], panel.expert[rows], resamples.of(rows)
    groups = drawn.case.tolist()
    found = {
        which.value: correlate_within(which, metric, expert, groups, drawn)
        if len(metric)
        else Estimate(reason="no pair has a score")
        for which in Coefficient
    }
    return Within(
        **found,
        pairwise=pairwise_accuracy_within(metric, expert, groups, drawn),
    )


def most_apart(name: str, panel: Panel, most: int = MOST_APART) -> tuple[Disagreement, ...]:
    """The pairs on which a metric and the experts differ most, by rank."""
    from scipy.stats import rankdata

    column = panel.metrics[name]
    rows = np.flatnonzero(scored(column))
    metric, expert = scores_of(column.rising[rows], panel.expert[rows])
    gaps = (rankdata(metric) - rankdata(expert)) / max(1, len(rows))
    order = np.argsort(-np.abs(gaps), kind="stable")[:most]
    return tuple(
        Disagreement(
            id=panel.ids[rows[at]],
            system=panel.systems[rows[at]] if panel.systems else "",
            score=float(column.values[rows[at]]),
            expert=float(expert[at]),
            gap=float(gaps[at]),
        )
        for at in order
        if gaps[at]
    )


def scored(column: Column) -> NDArray[np.bool_]:
    """Which rows a metric has scored."""
    return np.asarray(~np.isnan(column.values))


def share_of_ties(scores: Numbers) -> float | None:
    """The share of pairs of rows with equal scores."""
    if len(scores) < 2:
        return None
    _, sizes = np.unique(scores, return_counts=True)
    return float((sizes * (sizes - 1)).sum() / (len(scores) * (len(scores) - 1)))


def _correlation(
    which: Coefficient, metric: Numbers, expert: Numbers, drawn: Resamples
) -> Correlation:
    found = correlate(which, metric, expert, drawn)
    independent = classical_p(which, metric, expert)
    single = len(np.unique(drawn.case)) == len(metric)
    p = independent if single else found.p
    return Correlation(**{**found.model_dump(), "p": p}, p_rows=independent)


def _oriented_range(column: Column) -> Range | None:
    """The range of scores, negated if lower is better."""
    if column.range is None or column.higher_is_better:
        return column.range
    return (-column.range[1], -column.range[0])


ASSUMES_ROWS = "it assumes independent rows, and is too optimistic here"
"""The reason of such a test if groups have several rows."""


class Test(Noun):
    """The p-value of one test, and the same with Holm's correction for all pairs of metrics."""

    p: FiniteFloat | None = None
    holm: FiniteFloat | None = None
    reason: str | None = None


class Rivals(Noun):
    """Two metrics on the pairs that both have scored: by how much the first agrees better.

    `difference` has an interval but no p-value: the tests have those.
    """

    one: str
    other: str
    n: int
    difference: Estimate
    perm_cases: Test
    perm_both: Test
    williams: Test


class Ranking(Noun):
    """Ranks of metrics; those of one rank are not significantly worse than its first.

    There are no ranks if only some pairs of metrics were compared.
    """

    coefficient: Coefficient
    permutations: int
    ranks: dict[str, int]
    rivals: tuple[Rivals, ...]


def rank(
    panel: Panel,
    found: Sequence[MetricVsExperts],
    coefficient: Coefficient,
    resamples: Resamples,
    *,
    only: Sequence[tuple[str, str]] = (),
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Ranking:
    """Compare every two metrics, or only some, with a correction for multiple comparisons.

    More permutations are made than requested if the correction needs them to find anything.
    """
    named = list(only) or list(combinations([each.metric for each in found], 2))
    permutations = max(permutations, ceil(2 * len(named) / LEVEL))

    drawn: dict[bytes, Numbers] = {}

    def compare(pair: tuple[str, str]) -> Rivals:
        return _compare(panel, *pair, coefficient, resamples, permutations, seed, drawn)

    pairs = side_by_side(compare, named)
    corrected = tuple(_corrected(pairs))
    known = {frozenset({each.one, each.other}): each.perm_cases.holm for each in corrected}
    values = {
        each.metric: value
        for each in found
        if (value := each.coefficient(coefficient).value) is not None
    }
    return Ranking(
        coefficient=coefficient,
        permutations=permutations,
        ranks={} if only else significance_clusters(values, known, LEVEL),
        rivals=corrected,
    )


def _compare(
    panel: Panel,
    one: str,
    other: str,
    coefficient: Coefficient,
    resamples: Resamples,
    permutations: int,
    seed: int,
    known: dict[bytes, Numbers],
) -> Rivals:
    rows = scored(panel.metrics[one]) & scored(panel.metrics[other])
    x, y = panel.metrics[one].rising[rows], panel.metrics[other].rising[rows]
    z, drawn = panel.expert[rows], resamples.of(rows)
    cases = drawn.case.tolist()
    swapped = perm_cases(coefficient, x, y, z, cases, permutations, seed)
    single = len(set(cases)) == len(cases)
    return Rivals(
        one=one,
        other=other,
        n=len(z),
        difference=bootstrap_difference(coefficient, x, y, z, drawn, known).model_copy(
            update={"p": None}
        ),
        perm_cases=Test(p=swapped.p, reason=swapped.reason),
        perm_both=_by_rows(
            swapped if single else perm_both(coefficient, x, y, z, permutations, seed), single
        ),
        williams=_by_rows(williams(x, y, z), single),
    )


def _by_rows(found: Estimate, single: bool) -> Test:
    """A test that assumes independent rows, with a warning if they are not."""
    return Test(p=found.p, reason=found.reason or (None if single else ASSUMES_ROWS))


def _corrected(pairs: Sequence[Rivals]) -> Sequence[Rivals]:
    """The same with Holm's correction, separately for each test."""
    tests = ("perm_cases", "perm_both", "williams")
    for name in tests:
        every: list[Test] = [getattr(pair, name) for pair in pairs]
        corrected = holm([test.p for test in every])
        pairs = [
            pair.model_copy(update={name: test.model_copy(update={"holm": p})})
            for pair, test, p in zip(pairs, every, corrected, strict=True)
        ]
    return pairs
