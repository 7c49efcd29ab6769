"""Agreement of metrics with experts."""

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
from histoeval.statistics.pairwise import Accuracy, pairwise_accuracy
from histoeval.statistics.regression import Range, regress
from histoeval.statistics.resampling import PERMUTATIONS, Estimate, Numbers, Resamples
from histoeval.statistics.significance import (
    LEVEL,
    bootstrap_difference,
    holm,
    perm_cases,
    significance_clusters,
    williams,
)

MOST_APART = 5  # pairs named on which a metric and the experts differ most


class Correlation(Estimate):
    """A correlation with experts.

    `p_rows` is what papers print: it assumes independent rows. `p` is the one to use: the same if
    every group is one row, and else from resampled groups.
    """

    p_rows: FiniteFloat | None = None


class Within(Noun):
    """Mean agreement within groups, such as the reports on one case."""

    pearson: Estimate
    spearman: Estimate
    kendall: Estimate
    pairwise: Accuracy


class Disagreement(Noun):
    """`gap` is the difference of their percentile ranks: above 0, the metric praises it more."""

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
    apart: tuple[Disagreement, ...] = ()  # the pairs on which it and the experts differ most
    reason: str | None = None

    @property
    def falls(self) -> bool:
        return self.slope is not None and self.slope < 0

    @property
    def correlations(self) -> tuple[Correlation, Correlation, Correlation]:
        return self.pearson, self.spearman, self.kendall

    def coefficient(self, coefficient: Coefficient) -> Correlation:
        correlation: Correlation = getattr(self, coefficient.value)
        return correlation


def follow(name: str, panel: Panel, expert_range: Range, resamples: Resamples) -> MetricVsExperts:
    column = panel.metrics[name]
    rows = scored(column)
    metric, expert = scores_of(column.rising[rows], panel.expert[rows])
    drawn = resamples.of(rows)
    bounds = column.range
    if bounds is not None and not column.higher_is_better:
        bounds = (-bounds[1], -bounds[0])
    line = regress(metric, expert, expert_range, bounds)
    cases = len(np.unique(drawn.case))
    correlations = {}
    for coefficient in Coefficient:
        estimated = correlate(coefficient, metric, expert, drawn).model_dump()
        p_rows = classical_p(coefficient, metric, expert)
        if cases == len(metric):
            estimated["p"] = p_rows
        correlations[coefficient.value] = Correlation(**estimated, p_rows=p_rows)
    return MetricVsExperts(
        metric=name,
        signature=column.signature,
        n=int(rows.sum()),
        cases=cases,
        coverage=float(rows.mean()) if len(rows) else 0.0,
        **correlations,
        pairwise=pairwise_accuracy(metric, expert, drawn),
        ties=share_of_ties(metric),
        **line.model_dump(),
    )


def follow_within(name: str, panel: Panel, resamples: Resamples) -> Within:
    column = panel.metrics[name]
    rows = scored(column)
    metric, expert, drawn = column.rising[rows], panel.expert[rows], resamples.of(rows)
    groups = drawn.case.tolist()
    correlations = {
        coefficient.value: correlate_within(coefficient, metric, expert, groups, drawn)
        if len(metric)
        else Estimate(reason="no pair has a score")
        for coefficient in Coefficient
    }
    return Within(**correlations, pairwise=pairwise_accuracy(metric, expert, drawn, groups))


def most_apart(name: str, panel: Panel, most: int = MOST_APART) -> tuple[Disagreement, ...]:
    from scipy.stats import rankdata

    column = panel.metrics[name]
    rows = np.flatnonzero(scored(column))
    metric, expert = scores_of(column.rising[rows], panel.expert[rows])
    gaps = (rankdata(metric) - rankdata(expert)) / max(1, len(rows))
    order = np.argsort(-np.abs(gaps), kind="stable")[:most]
    return tuple(
        Disagreement(
            id=panel.ids[rows[index]],
            system=panel.systems[rows[index]] if panel.systems else "",
            score=float(column.values[rows[index]]),
            expert=float(expert[index]),
            gap=float(gaps[index]),
        )
        for index in order
        if gaps[index]
    )


def scored(column: Column) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(column.values))


def share_of_ties(scores: Numbers) -> float | None:
    if len(scores) < 2:
        return None
    _, sizes = np.unique(scores, return_counts=True)
    return float((sizes * (sizes - 1)).sum() / (len(scores) * (len(scores) - 1)))


ASSUMES_ROWS = "it assumes independent rows, and is too optimistic here"  # a reason for groups


class Test(Noun):
    p: FiniteFloat | None = None
    holm: FiniteFloat | None = None
    reason: str | None = None


class Rivals(Noun):
    """Two metrics on the same pairs; `difference` has no p-value, since the tests have those."""

    one: str
    other: str
    n: int
    difference: Estimate
    perm_cases: Test
    perm_both: Test
    williams: Test


class Ranking(Noun):
    """Metrics of one rank are not significantly worse than its first; none if only some compete."""

    coefficient: Coefficient
    permutations: int
    ranks: dict[str, int]
    rivals: tuple[Rivals, ...]


def rank(
    panel: Panel,
    metrics: Sequence[MetricVsExperts],
    coefficient: Coefficient,
    resamples: Resamples,
    *,
    only: Sequence[tuple[str, str]] = (),
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Ranking:
    """Rank metrics; makes more permutations than requested if Holm's correction needs them."""
    metric_pairs = list(only) or list(combinations([row.metric for row in metrics], 2))
    permutations = max(permutations, ceil(2 * len(metric_pairs) / LEVEL))
    correlations: dict[bytes, Numbers] = {}

    def compare(pair: tuple[str, str]) -> Rivals:
        columns = [panel.metrics[name] for name in pair]
        rows = scored(columns[0]) & scored(columns[1])
        x, y = (column.rising[rows] for column in columns)
        z, drawn = panel.expert[rows], resamples.of(rows)
        cases = drawn.case.tolist()
        by_case = by_row = perm_cases(coefficient, x, y, z, cases, permutations, seed)
        reason = None
        if len(set(cases)) < len(cases):
            rows_alone = range(len(z))
            by_row = perm_cases(coefficient, x, y, z, rows_alone, permutations, seed)
            reason = ASSUMES_ROWS
        classical = williams(x, y, z)
        difference = bootstrap_difference(coefficient, x, y, z, drawn, correlations)
        return Rivals(
            one=pair[0],
            other=pair[1],
            n=len(z),
            difference=difference.model_copy(update={"p": None}),
            perm_cases=Test(p=by_case.p, reason=by_case.reason),
            perm_both=Test(p=by_row.p, reason=by_row.reason or reason),
            williams=Test(p=classical.p, reason=classical.reason or reason),
        )

    rivals = tuple(_corrected(side_by_side(compare, metric_pairs)))
    p_values = {frozenset({pair.one, pair.other}): pair.perm_cases.holm for pair in rivals}
    values = {
        row.metric: value
        for row in metrics
        if (value := row.coefficient(coefficient).value) is not None
    }
    return Ranking(
        coefficient=coefficient,
        permutations=permutations,
        ranks={} if only else significance_clusters(values, p_values, LEVEL),
        rivals=rivals,
    )


def _corrected(pairs: Sequence[Rivals]) -> Sequence[Rivals]:
    for name in ("perm_cases", "perm_both", "williams"):
        tests: list[Test] = [getattr(pair, name) for pair in pairs]
        corrected = holm([test.p for test in tests])
        pairs = [
            pair.model_copy(update={name: test.model_copy(update={"holm": p})})
            for pair, test, p in zip(pairs, tests, corrected, strict=True)
        ]
    return pairs
