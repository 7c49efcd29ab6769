"""How well one metric agrees with experts."""

import numpy as np
from numpy.typing import NDArray
from pydantic import FiniteFloat

from histoeval.agreement.panel import Column, Panel
from histoeval.report import Noun
from histoeval.statistics.correlation import (
    Coefficient,
    classical_p,
    correlate,
    correlate_within,
    scores_of,
)
from histoeval.statistics.pairwise import Accuracy, pairwise_accuracy, pairwise_accuracy_within
from histoeval.statistics.regression import Range, regress
from histoeval.statistics.resampling import Estimate, Numbers, Resamples

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
