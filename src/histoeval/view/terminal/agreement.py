"""Tables on how well metrics agree with experts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from histoeval.agreement.metric_vs_experts import MetricVsExperts
from histoeval.agreement.pairwise_tests import Ranking, Rivals
from histoeval.agreement.study import Raters, Study, StudyPlan
from histoeval.statistics.pairwise import Accuracy
from histoeval.statistics.power import SampleSize
from histoeval.statistics.resampling import Estimate
from histoeval.table import NONE, ResultTable, footnotes, number


def agreement_tables(study: Study, plan: StudyPlan) -> Iterator[ResultTable]:
    """Every table of a study, the most important first."""
    yield _correlations(study, plan)
    yield _fits(study.metrics)
    yield _p_values(study.metrics, plan)
    if any(each.within for each in study.metrics):
        yield _within(study.metrics, plan)
    if study.ranking.rivals:
        yield _rivals(study.ranking)
    if len(study.raters.names) > 1:
        yield _raters(study.raters)
    for label, parts in study.by.items():
        yield _apart(label, parts)
    if plan.power is not None and study.power is not None:
        yield _power(plan.power, study.power)


def remarks(study: Study, plan: StudyPlan) -> list[str]:
    """How to read the tables, and why results are missing."""
    notes = [
        f"Intervals: 95 %, {plan.resamples:,} resamples of whole groups ({plan.group}), seed "
        f"{plan.seed}. Experts' scores run from {plan.expert_range[0]:g} to "
        f"{plan.expert_range[1]:g}; they call {number(study.expert_ties)} of all pairs equal.",
        "acc*eq: share of pairs of reports put in the experts' order, ties included; its interval "
        "is corrected for the optimism of choosing epsilon on the same pairs.",
    ]
    if study.cases < study.rows:
        notes.append(
            "Groups have several rows: p with rows independent, PERM-BOTH and Williams are too "
            "optimistic."
        )
    if plan.positive_only:
        notes.append(
            "Pairs that experts give 0 are excluded, as in the HARE paper: that narrows the range, "
            "and so lowers correlations and hides false praise."
        )
    return notes + footnotes(_reasons(study))


def _reasons(study: Study) -> Iterator[tuple[str, str | None]]:
    for each in study.metrics:
        yield each.metric, each.reason
        yield each.metric, each.pearson.reason
        yield each.metric, each.pairwise.reason
        if each.within is not None:
            yield f"{each.metric} within groups", each.within.pearson.reason
            yield f"{each.metric} within groups", each.within.pairwise.reason
    if len(study.raters.names) > 1:
        found = study.raters
        yield "alpha", found.alpha.reason
        yield "kappa", found.kappa.reason
        yield "ICC", found.icc.reason
        yield "ceiling", found.ceiling.reason
    for label, parts in study.by.items():
        for value, metrics in parts.items():
            for each in metrics:
                yield f"{each.metric} for {label} {value}", each.pearson.reason


def _correlations(study: Study, plan: StudyPlan) -> ResultTable:
    only = ", score above 0" if plan.positive_only else ""
    ranked = study.ranking.ranks
    return ResultTable(
        f"Correlation with experts; pairs: {study.rows:,}, groups: {study.cases:,}{only}",
        ["metric", *(["rank"] if ranked else []), "n", "Pearson", "Spearman", "Kendall"],
        [
            [
                each.metric,
                *([str(ranked.get(each.metric, NONE))] if ranked else []),
                f"{each.n:,}",
                interval(each.pearson),
                interval(each.spearman),
                interval(each.kendall),
            ]
            for each in _sorted(study.metrics, plan)
        ],
    )


def _sorted(metrics: Sequence[MetricVsExperts], plan: StudyPlan) -> list[MetricVsExperts]:
    """The best first, and those without a value last."""
    values = {each.metric: each.coefficient(plan.coefficient).value for each in metrics}
    known = {name: value for name, value in values.items() if value is not None}
    return sorted(metrics, key=lambda each: -known.get(each.metric, -2.0))


def _p_values(metrics: Sequence[MetricVsExperts], plan: StudyPlan) -> ResultTable:
    names = ("Pearson", "Spearman", "Kendall")
    return ResultTable(
        f"p-values by {plan.group}, and with rows independent",
        ["metric", *names, *[f"{name}, rows" for name in names]],
        [
            [
                each.metric,
                *[p_text(found.p) for found in each.correlations],
                *[p_text(found.p_rows) for found in each.correlations],
            ]
            for each in metrics
        ],
    )


def _fits(metrics: Sequence[MetricVsExperts]) -> ResultTable:
    return ResultTable(
        "Fitted line, and the order of every two reports",
        ["metric", "R²", "RMSE", "acc*eq", "epsilon", "ties", "coverage"],
        [
            [
                each.metric,
                number(each.r2),
                number(each.rmse),
                interval(each.pairwise),
                _plain(each.pairwise.epsilon),
                number(each.ties),
                f"{each.coverage:.1%}",
            ]
            for each in metrics
        ],
    )


def _within(metrics: Sequence[MetricVsExperts], plan: StudyPlan) -> ResultTable:
    return ResultTable(
        f"Within groups ({plan.group}): mean over groups in which scores vary",
        ["metric", "Pearson", "Spearman", "Kendall", "acc*eq", "epsilon"],
        [
            [
                each.metric,
                interval(each.within.pearson),
                interval(each.within.spearman),
                interval(each.within.kendall),
                interval(each.within.pairwise),
                _plain(each.within.pairwise.epsilon),
            ]
            for each in metrics
            if each.within is not None
        ],
    )


def _rivals(ranking: Ranking) -> ResultTable:
    return ResultTable(
        f"Metric against metric by {ranking.coefficient.value.title()}; p corrected by Holm",
        ["first less second", "difference", "by group", "PERM-BOTH", "Williams (Pearson)"],
        [_rival(each) for each in ranking.rivals],
    )


def _rival(each: Rivals) -> list[str]:
    tests = (each.perm_cases, each.perm_both, each.williams)
    return [
        f"{each.one} - {each.other}",
        interval(each.difference),
        *[p_text(test.holm) for test in tests],
    ]


def _raters(raters: Raters) -> ResultTable:
    top = raters.ceiling
    return ResultTable(
        f"{len(raters.names)} raters, {top.rows:,} pairs scored by all",
        ["measure", "value"],
        [
            ["Krippendorff's alpha (ordinal)", interval(raters.alpha)],
            ["kappa (quadratic), mean of two by two", interval(raters.kappa)],
            ["ICC(2,1)", interval(raters.icc)],
            ["ceiling for Pearson with one rater", number(top.one_rater)],
            ["ceiling for Pearson with their mean", number(top.mean_of_raters)],
            ["a rater with the mean of the others", number(top.held_out)],
        ],
    )


def _apart(label: str, parts: Mapping[str, Sequence[MetricVsExperts]]) -> ResultTable:
    return ResultTable(
        f"By {label}",
        [label, "metric", "n", "Pearson", "Spearman", "Kendall", "acc*eq"],
        [
            [
                value,
                each.metric,
                f"{each.n:,}",
                interval(each.pearson),
                interval(each.spearman),
                interval(each.kendall),
                interval(each.pairwise),
            ]
            for value, metrics in parts.items()
            for each in metrics
        ],
    )


def _power(names: tuple[str, str], need: SampleSize) -> ResultTable:
    enough = need.pairs is not None
    answer = f"{need.pairs:,} pairs of {need.cases:,} groups" if enough else need.reason or NONE
    return ResultTable(
        f"To tell {names[0]} from {names[1]} four times in five",
        ["", "answer"],
        [
            ["difference, as observed", number(need.difference)],
            ["needed", answer],
            *[[f"power with {step.cases:,} groups", f"{step.power:.0%}"] for step in need.steps],
        ],
    )


def interval(found: Estimate | Accuracy) -> str:
    """A value with its interval, if there are any."""
    if found.value is None:
        return NONE
    if found.low is None or found.high is None:
        return f"{found.value:.3f}"
    return f"{found.value:.3f} ({found.low:.2f}…{found.high:.2f})"


def p_text(p: float | None) -> str:
    """A probability, never as 0."""
    if p is None:
        return NONE
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"
