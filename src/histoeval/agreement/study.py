"""An agreement study of stored scores: metrics, ranks, subgroups, and the experts."""

from collections.abc import Mapping

import numpy as np
from pydantic import Field, FiniteFloat

from histoeval.agreement.metric_vs_experts import (
    MetricVsExperts,
    Ranking,
    follow,
    follow_within,
    most_apart,
    rank,
    share_of_ties,
)
from histoeval.agreement.panel import Panel
from histoeval.errors import InputError, SettingError, did_you_mean
from histoeval.report import Noun
from histoeval.runtime.threads import side_by_side
from histoeval.statistics.correlation import RANKED_BY, Coefficient
from histoeval.statistics.raters import (
    Ceiling,
    ceiling,
    icc,
    kappas_of_pairs,
    krippendorff_alpha,
    quadratic_kappa,
    rater_biases,
)
from histoeval.statistics.regression import Range
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES, Estimate, Resamples, resample
from histoeval.statistics.significance import SampleSize, pairs_needed


class StudyPlan(Noun):
    """The settings of a study: all that its results depend on beside the scores."""

    group: str = "case"
    by: tuple[str, ...] = ()
    positive_only: bool = False
    expert_range: Range = (0.0, 5.0)
    coefficient: Coefficient = RANKED_BY
    resamples: int = Field(default=RESAMPLES, ge=1)
    permutations: int = Field(default=PERMUTATIONS, ge=1)
    seed: int = Field(default=0, ge=0)
    power: tuple[str, str] | None = None
    only: tuple[tuple[str, str], ...] = ()  # pairs of metrics to compare; all when there are none


class Rater(Noun):
    """One rater: pairs scored, mean, and excess over the other raters on the same pairs."""

    name: str
    n: int
    mean: FiniteFloat
    bias: FiniteFloat | None = None


class RaterPair(Noun):
    one: str
    other: str
    n: int
    kappa: FiniteFloat | None = None


class Raters(Noun):
    names: tuple[str, ...]
    each: tuple[Rater, ...] = ()
    pairs: tuple[RaterPair, ...] = ()
    alpha: Estimate
    kappa: Estimate
    icc: Estimate
    ceiling: Ceiling


class Study(Noun):
    rows: int
    cases: int
    expert_ties: float | None
    metrics: tuple[MetricVsExperts, ...]
    ranking: Ranking
    raters: Raters
    by: Mapping[str, Mapping[str, tuple[MetricVsExperts, ...]]] = Field(default_factory=dict)
    power: SampleSize | None = None


def study(panel: Panel, plan: StudyPlan) -> Study:
    if plan.positive_only:
        panel = panel.above(0.0)
    if not len(panel):
        bound = " above 0" if plan.positive_only else ""
        raise InputError(f"no pair has an expert's score{bound}: there is nothing to compare with")
    if not panel.metrics:
        raise SettingError("no metric was named, and no file of scores was given")
    resamples = resample(panel.groups, plan.resamples, plan.seed)
    has_groups = len(set(panel.groups)) < len(panel)

    def follow_metric(name: str) -> MetricVsExperts:
        within = follow_within(name, panel, resamples) if has_groups else None
        comparison = follow(name, panel, plan.expert_range, resamples)
        return comparison.model_copy(update={"within": within, "apart": most_apart(name, panel)})

    metrics = tuple(side_by_side(follow_metric, panel.metrics))
    return Study(
        rows=len(panel),
        cases=len(set(panel.groups)),
        expert_ties=share_of_ties(panel.expert),
        metrics=metrics,
        ranking=rank(
            panel,
            metrics,
            plan.coefficient,
            resamples,
            only=plan.only,
            permutations=plan.permutations,
            seed=plan.seed,
        ),
        raters=rater_agreement(panel, resamples),
        by={label: _by_label(panel, label, plan) for label in plan.by},
        power=_power(panel, plan),
    )


def _by_label(panel: Panel, label: str, plan: StudyPlan) -> dict[str, tuple[MetricVsExperts, ...]]:
    def follow_all(part: Panel) -> tuple[MetricVsExperts, ...]:
        resamples = resample(part.groups, plan.resamples, plan.seed)
        return tuple(follow(name, part, plan.expert_range, resamples) for name in part.metrics)

    parts = panel.by(label)
    metrics = side_by_side(follow_all, parts.values())
    return {value or "(none)": row for value, row in zip(parts, metrics, strict=True)}


def rater_agreement(panel: Panel, drawn: Resamples) -> Raters:
    table, names = panel.ratings, tuple(panel.raters)
    given_scores = [column[~np.isnan(column)] for column in table.T]
    return Raters(
        names=names,
        each=tuple(
            Rater(name=name, n=len(scores), mean=float(scores.mean()), bias=bias)
            for name, scores, bias in zip(names, given_scores, rater_biases(table), strict=True)
            if len(scores)
        ),
        pairs=tuple(
            RaterPair(one=names[first], other=names[second], n=n, kappa=kappa)
            for (first, second), (n, kappa) in kappas_of_pairs(table).items()
        ),
        alpha=krippendorff_alpha(table, drawn),
        kappa=quadratic_kappa(table, drawn),
        icc=icc(table, drawn),
        ceiling=ceiling(table, drawn),
    )


def _power(panel: Panel, plan: StudyPlan) -> SampleSize | None:
    if plan.power is None:
        return None
    if unknown := [name for name in plan.power if name not in panel.metrics]:
        names = ", ".join(panel.metrics)
        raise SettingError(
            f"{unknown[0]!r} was not scored{did_you_mean(unknown[0], panel.metrics)}, so its power "
            f"is unknown; known: {names}"
        )
    first, second = (panel.metrics[name].rising for name in plan.power)
    rows = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    groups = [panel.groups[row] for row in rows]
    return pairs_needed(
        plan.coefficient, first[rows], second[rows], panel.expert[rows], groups, seed=plan.seed
    )
