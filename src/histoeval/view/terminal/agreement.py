"""Tables on how well metrics agree with experts."""

from collections.abc import Callable, Iterator
from typing import Any

from histoeval.agreement.metric_vs_experts import MetricVsExperts
from histoeval.agreement.study import Raters, Study, StudyPlan
from histoeval.evaluate.estimates import ReportEstimate
from histoeval.statistics.pairwise import Accuracy
from histoeval.statistics.resampling import Estimate
from histoeval.table import NONE, ResultTable, footnotes, number

Columns = dict[str, Callable[[Any], str]]

METRIC: Columns = {"metric": lambda metric: metric.metric}
COUNT: Columns = {"n": lambda metric: f"{metric.n:,}"}
CORRELATIONS: Columns = {
    "Spearman": lambda metric: interval(metric.spearman),
    "Pearson": lambda metric: interval(metric.pearson),
    "Kendall": lambda metric: interval(metric.kendall),
}
ACCURACY: Columns = {"acc*eq": lambda metric: interval(metric.pairwise)}
# in place of R² and RMSE of a line that runs the wrong way: the closer it fits, the worse
FALLS = "falls"


def agreement_tables(
    study: Study, plan: StudyPlan, *, every_metric: bool = False
) -> Iterator[ResultTable]:
    """Yield all tables, the most important first; differing pairs of the best or every metric."""
    values = {metric.metric: metric.coefficient(plan.coefficient).value for metric in study.metrics}
    value_of = {name: value for name, value in values.items() if value is not None}
    metrics = sorted(
        study.metrics, key=lambda metric: -value_of.get(metric.metric, -2.0)
    )  # or last
    only = ", score above 0" if plan.positive_only else ""
    ranks = study.ranking.ranks
    rank: Columns = {"rank": lambda metric: str(ranks.get(metric.metric, NONE))} if ranks else {}
    yield ResultTable.of(
        f"Correlation with experts; pairs: {study.rows:,}, groups: {study.cases:,}{only}; ranked "
        f"by {plan.coefficient.value.title()}",
        metrics,
        METRIC | rank | COUNT | CORRELATIONS,
    )
    yield ResultTable.of(
        "Fitted line, and the order of every two reports",
        metrics,
        {
            **METRIC,
            "R²": lambda metric: FALLS if metric.falls else number(metric.r2),
            "RMSE": lambda metric: FALLS if metric.falls else number(metric.rmse),
            **ACCURACY,
            "epsilon": lambda metric: _plain(metric.pairwise.epsilon),
            "ties": lambda metric: number(metric.ties),
            "coverage": lambda metric: f"{metric.coverage:.1%}",
        },
    )
    yield ResultTable.of(
        f"p-values by {plan.group}, and with rows independent",
        metrics,
        {
            **METRIC,
            "Spearman": lambda metric: p_text(metric.spearman.p),
            "Pearson": lambda metric: p_text(metric.pearson.p),
            "Kendall": lambda metric: p_text(metric.kendall.p),
            "Spearman, rows": lambda metric: p_text(metric.spearman.p_rows),
            "Pearson, rows": lambda metric: p_text(metric.pearson.p_rows),
            "Kendall, rows": lambda metric: p_text(metric.kendall.p_rows),
        },
    )
    if within := [
        (metric.metric, metric.within) for metric in metrics if metric.within is not None
    ]:
        cells = [*CORRELATIONS.values(), *ACCURACY.values()]
        yield ResultTable(
            f"Within groups ({plan.group}): mean over groups in which scores vary",
            ["metric", *CORRELATIONS, *ACCURACY, "epsilon"],
            [
                [name, *[cell(accuracy) for cell in cells], _plain(accuracy.pairwise.epsilon)]
                for name, accuracy in within
            ],
        )
    if study.ranking.rivals:
        by = study.ranking.coefficient.value.title()
        yield ResultTable.of(
            f"Metric against metric by {by}; p corrected by Holm",
            study.ranking.rivals,
            {
                "first minus second": lambda rivals: f"{rivals.one} - {rivals.other}",
                "difference": lambda rivals: interval(rivals.difference),
                "by group": lambda rivals: p_text(rivals.perm_cases.holm),
                "PERM-BOTH": lambda rivals: p_text(rivals.perm_both.holm),
                "Williams": lambda rivals: p_text(rivals.williams.holm),
            },
        )
    for metric in metrics if every_metric else metrics[:1]:
        if metric.apart:
            yield _apart_from_experts(metric)
    if len(study.raters.names) > 1:
        yield from rater_tables(study.raters)
    for label, parts in study.by.items():
        columns = METRIC | COUNT | CORRELATIONS | ACCURACY
        rows = [
            [value, *[cell(metric) for cell in columns.values()]]
            for value, of_part in parts.items()
            for metric in of_part
        ]
        yield ResultTable(f"By {label}", [label, *columns], rows)
    if plan.power is not None and (need := study.power) is not None:
        needed = need.reason or NONE
        if need.pairs is not None:
            needed = f"{need.pairs:,} pairs of {need.cases:,} groups"
        steps = [[f"power with {step.cases:,} groups", f"{step.power:.0%}"] for step in need.steps]
        yield ResultTable(
            f"To tell {plan.power[0]} from {plan.power[1]} four times in five",
            ["", "answer"],
            [["difference, as observed", number(need.difference)], ["needed", needed], *steps],
        )


def rater_tables(raters: Raters) -> Iterator[ResultTable]:
    top = raters.ceiling
    yield ResultTable(
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
    yield ResultTable.of(
        "Each rater",
        raters.each,
        {
            "rater": lambda rater: rater.name,
            "n": lambda rater: f"{rater.n:,}",
            "mean": lambda rater: number(rater.mean, 2),
            "bias": lambda rater: NONE if rater.bias is None else f"{rater.bias + 0.0:+.2f}",
        },
    )
    yield ResultTable.of(
        "Two raters at a time",
        raters.pairs,
        {
            "raters": lambda pair: f"{pair.one}, {pair.other}",
            "n": lambda pair: f"{pair.n:,}",
            "kappa (quadratic)": lambda pair: number(pair.kappa),
        },
    )


def remarks(study: Study, plan: StudyPlan) -> list[str]:
    notes = [
        f"Intervals: 95 %, {plan.resamples:,} resamples of whole groups ({plan.group}), seed "
        f"{plan.seed}. Experts' scores run from {plan.expert_range[0]:g} to "
        f"{plan.expert_range[1]:g}; they call {number(study.expert_ties)} of all pairs equal.",
        "acc*eq: share of pairs of reports put in the experts' order, ties included; its interval "
        "is corrected for the optimism of choosing epsilon on the same pairs. Williams' test is "
        "for Pearson, whatever metrics are ranked by.",
    ]
    if falling := [metric.metric for metric in study.metrics if metric.falls]:
        notes.append(
            f"{FALLS}: the higher the score of {', '.join(falling)}, the lower the experts' score. "
            "The fitted line runs the wrong way, so a close fit would speak against the metric."
        )
    if study.cases < study.rows:
        notes.append(
            "Groups have several rows: p with rows independent, PERM-BOTH and Williams are too "
            "optimistic."
        )
    if len(study.raters.names) > 1:
        notes.append("bias: how much higher a rater scores than the mean of the others.")
    if plan.positive_only:
        notes.append(
            "Pairs that experts give 0 are excluded, as in the HARE paper: that narrows the range, "
            "and so lowers correlations and hides false praise."
        )
    return notes + footnotes(_reasons(study))


def _reasons(study: Study) -> Iterator[tuple[str, str | None]]:
    for metric in study.metrics:
        yield metric.metric, metric.reason
        yield metric.metric, metric.pearson.reason
        yield metric.metric, metric.pairwise.reason
        if metric.within is not None:
            yield f"{metric.metric} within groups", metric.within.pearson.reason
            yield f"{metric.metric} within groups", metric.within.pairwise.reason
    if len(study.raters.names) > 1:
        raters = study.raters
        yield "alpha", raters.alpha.reason
        yield "kappa", raters.kappa.reason
        yield "ICC", raters.icc.reason
        yield "ceiling", raters.ceiling.reason
    for label, parts in study.by.items():
        for value, metrics in parts.items():
            for metric in metrics:
                yield f"{metric.metric} for {label} {value}", metric.pearson.reason


def _apart_from_experts(metric: MetricVsExperts) -> ResultTable:
    """Return the pairs to look at first to understand or improve a metric."""
    has_systems = any(pair.system for pair in metric.apart)
    system: Columns = {"system": lambda pair: pair.system} if has_systems else {}
    return ResultTable.of(
        f"Where {metric.metric} and the experts differ most",
        metric.apart,
        {
            "pair": lambda pair: pair.id,
            **system,
            "score": lambda pair: _plain(pair.score),
            "experts": lambda pair: _plain(pair.expert),
            "ranks apart": lambda pair: f"{pair.gap:+.0%}",
            "the metric is": lambda pair: "too kind" if pair.gap > 0 else "too strict",
        },
    )


def interval(
    estimate: Estimate | Accuracy | ReportEstimate | None,
    digits: int = 3,
    ends: int = 2,
    to: str = "…",
) -> str:
    """Format a value with its interval, if any; a bound that rounds to 0 keeps its sign."""
    if estimate is None or estimate.value is None:
        return NONE
    low, high = estimate.low, estimate.high
    within = "" if low is None or high is None else f" ({low:.{ends}f}{to}{high:.{ends}f})"
    return f"{number(estimate.value, digits)}{within}"


def p_text(p: float | None) -> str:
    if p is None:
        return NONE
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def _plain(value: float | None) -> str:
    return NONE if value is None else f"{value:.3g}"
