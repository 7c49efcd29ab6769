"""From scores to a ranking: order, significance, stability and subgroups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, isfinite
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from histoeval.agreement.systems import Duel, contest
from histoeval.challenge.folder import Challenge
from histoeval.challenge.policy import ChallengePolicy
from histoeval.challenge.scoring import CaseScore
from histoeval.challenge.standings import (
    CaseStanding,
    MetricStanding,
    MetricUsed,
    RankStability,
    SubgroupStanding,
    TeamStanding,
)
from histoeval.errors import SettingError
from histoeval.metric import Metric
from histoeval.statistics.correlation import mean_of
from histoeval.statistics.resampling import (
    Estimate,
    Numbers,
    Resamples,
    by_case,
    estimate,
    estimated,
    resample,
)
from histoeval.statistics.significance import significance_clusters

LOWEST = 10  # cases shown of a team: those with the lowest scores
_DIGITS = 12  # scores that differ only beyond these are equal

TeamScores = Mapping[str, Mapping[str, CaseScore]]
Ties = Literal["min", "dense", "average", "max"]
Combine = Literal["mean-then-rank", "rank-then-mean"]


def metric_used(policy: ChallengePolicy, metric: Metric) -> MetricUsed:
    rule = policy.metrics[metric.name]
    is_rising = metric.higher_is_better if rule.direction is None else rule.direction == "up"
    worst, best = metric.range if is_rising else metric.range[::-1]
    worst = worst if rule.worst is None else rule.worst
    best = best if rule.best is None else rule.best
    for name, value in (("worst", worst), ("best", best)):
        if not isfinite(value):
            raise SettingError(
                f"policy: metrics.{metric.name}.{name} is needed, as the metric has no limit there"
            )
    if (best > worst) != is_rising:
        raise SettingError(
            f"policy: metrics.{metric.name} has the worst value {worst:g} and the best value "
            f"{best:g}, but {'more' if is_rising else 'less'} is better"
        )
    return MetricUsed(
        signature=str(metric.signature),
        weight=policy.weights[metric.name],
        higher_is_better=is_rising,
        worst=worst,
        best=best,
    )


@dataclass(frozen=True)
class Values:
    """Values of teams x metrics x cases, without gaps; `worst` and `best` count as 0 and 1."""

    teams: tuple[str, ...]
    metrics: tuple[str, ...]
    cases: tuple[str, ...]
    raw: Numbers
    worst: Numbers
    best: Numbers
    weights: Numbers

    @cached_property
    def scaled(self) -> Numbers:
        worst, best = self.worst[None, :, None], self.best[None, :, None]
        return np.clip((self.raw - worst) / (best - worst), 0.0, 1.0)

    @cached_property
    def score(self) -> Numbers:
        return np.asarray(np.einsum("tmc,m->tc", self.scaled, self.weights))

    def only(self, rows: NDArray[np.intp]) -> Values:
        cases = tuple(self.cases[row] for row in rows)
        return replace(self, cases=cases, raw=self.raw[:, :, rows])


def values_of(
    scores: TeamScores, used: Mapping[str, MetricUsed], cases: Sequence[str]
) -> tuple[Values, NDArray[np.bool_]]:
    """Return the scores, with the worst value for missing ones, and a mask of present ones."""
    worst, best, weights = (
        np.array([getattr(metric, name) for metric in used.values()])
        for name in ("worst", "best", "weight")
    )
    raw = np.empty((len(scores), len(used), len(cases)))
    raw[:] = worst[None, :, None]
    is_scored = np.zeros((len(scores), len(cases)), dtype=np.bool_)
    for row, case_scores in enumerate(scores.values()):
        for column, case in enumerate(cases):
            values = case_scores[case].values if case in case_scores else {}
            is_scored[row, column] = all(name in values for name in used)
            for index, name in enumerate(used):
                if name in values:
                    raw[row, index, column] = values[name]
    return Values(tuple(scores), tuple(used), tuple(cases), raw, worst, best, weights), is_scored


class Ranker:
    """Standings of teams under a policy; all teams share the same resamples."""

    def __init__(self, values: Values, challenge: Challenge) -> None:
        self.values, self.policy = values, challenge.policy
        groups = [challenge.groups.get(id_, id_) for id_ in values.cases]
        self.drawn = resample(groups, self.policy.resamples, self.policy.seed)
        self.means = values.scaled.mean(axis=2)
        self.drawn_means = resampled_means(values.scaled, self.drawn)
        self.places = self._places(self.means)
        labels = [challenge.subgroups.get(id_) for id_ in values.cases]
        self.subgroups = {
            name: np.array([row for row, label in enumerate(labels) if label == name], np.intp)
            for name in sorted({label for label in labels if label is not None})
        }
        self.without: dict[str, Numbers] = {}  # places without one of several metrics
        for index, name in enumerate(values.metrics):
            other_weights = values.weights.copy()
            other_weights[index] = 0.0
            if other_weights.any():
                self.without[name] = self._places(self.means, other_weights / other_weights.sum())

    def _places(self, means: Numbers, weights: Numbers | None = None) -> Numbers:
        weights = self.values.weights if weights is None else weights
        return places(means, weights, self.policy.combine, self.policy.ties)

    def _drawn_places(self, ties: Ties) -> Numbers:
        return places(self.drawn_means, self.values.weights, self.policy.combine, ties)

    @cached_property
    def duels(self) -> Sequence[Duel]:
        policy, teams = self.policy, self.values.teams
        if len(teams) < 2:
            return ()
        count = len(teams) * (len(teams) - 1) // 2
        return contest(
            dict(zip(teams, self.values.score, strict=True)),
            self.drawn.case.tolist(),
            resamples=policy.resamples,
            permutations=max(policy.permutations, ceil(2 * count / policy.level)),
            seed=policy.seed,
        ).duels

    def _tiers(self) -> dict[str, int]:
        """Tiers of teams; a new one begins where a team of the last is significantly better."""
        order = dict(zip(self.values.teams, -self.places, strict=True))
        p_values = {}
        for duel in self.duels:
            gap = order[duel.one] - order[duel.other]
            is_consistent = gap * (duel.difference.value or 0.0) > 0
            p_values[frozenset({duel.one, duel.other})] = duel.holm if is_consistent else None
        return significance_clusters(order, p_values, self.policy.level)

    def stability(self, rankings: Numbers | None = None) -> RankStability:
        """Compare the ranking with others, by default those of the resamples."""
        rankings = self._drawn_places("min") if rankings is None else rankings
        tau = kendall(self.places, rankings)
        first = self.places == self.places.min()
        is_first = (rankings[:, first] == rankings.min(axis=1, keepdims=True)).any(axis=1)
        low, high = np.quantile(tau, [0.025, 0.975]) if len(tau) > 1 else (None, None)
        return RankStability(
            tau=float(tau.mean()), tau_low=low, tau_high=high, same_first=float(is_first.mean())
        )

    def standings(self, scores: TeamScores, there: NDArray[np.bool_]) -> list[TeamStanding]:
        values, ties = self.values, self.policy.ties
        score = estimates(values.score.mean(axis=1), self.drawn_means @ values.weights, self.drawn)
        ranks = mean_ranks(self.means, values.weights)
        tiers, metrics, subgroups = self._tiers(), self._metrics(), self._subgroups()
        # Two teams that share 4.5 (`ties: average`) have places 4 and 5; by `min` and `dense` both
        # have one place.
        tie_rules: tuple[Ties, Ties] = ("min", "max") if ties == "average" else (ties, ties)
        best, worst, places = (self._drawn_places(rule) for rule in (*tie_rules, "min"))
        standings = []
        for row, team in enumerate(values.teams):
            low, high = place_interval(best[:, row], worst[:, row])
            standings.append(
                TeamStanding(
                    team=team,
                    place=self.places[row],
                    tier=tiers[team],
                    score=score[row],
                    mean_rank=ranks[row],
                    place_low=low,
                    place_high=high,
                    place_shares=shares_of_places(places[:, row], len(values.teams)),
                    scored=int(there[row].sum()),
                    missing=int((~there[row]).sum()),
                    metrics={name: standing[row] for name, standing in metrics.items()},
                    subgroups={name: standing[row] for name, standing in subgroups.items()},
                    lowest=self._lowest(row, scores[team], there[row]),
                )
            )
        return sorted(standings, key=lambda standing: (standing.place, standing.team))

    def _metrics(self) -> dict[str, list[MetricStanding]]:
        values, drawn_means = self.values, resampled_means(self.values.raw, self.drawn)
        standings = {}
        for index, name in enumerate(values.metrics):
            means = estimates(
                values.raw[:, index].mean(axis=1), drawn_means[:, :, index], self.drawn
            )
            places_alone = self._places(self.means[:, [index]], np.ones(1))
            places_without = self.without[name] if name in self.without else [None] * len(means)
            standings[name] = [
                MetricStanding(mean=mean, place=place_alone, place_without=place_without)
                for mean, place_alone, place_without in zip(
                    means, places_alone, places_without, strict=True
                )
            ]
        return standings

    def _subgroups(self) -> dict[str, list[SubgroupStanding]]:
        standings = {}
        for name, rows in self.subgroups.items():
            part, resamples = self.values.only(rows), self.drawn.of(rows)
            places = self._places(part.scaled.mean(axis=2))
            raw = part.raw.mean(axis=2)
            standings[name] = [
                SubgroupStanding(
                    score=estimate(mean_of(column, resamples), resamples),
                    place=places[row],
                    metrics=dict(zip(part.metrics, map(float, raw[row]), strict=True)),
                )
                for row, column in enumerate(part.score)
            ]
        return standings

    def _lowest(
        self, row: int, scores: Mapping[str, CaseScore], is_scored: NDArray[np.bool_]
    ) -> tuple[CaseStanding, ...]:
        order = np.argsort(self.values.score[row], kind="stable")
        lowest = [
            index for index in order if is_scored[index] or self.values.cases[index] in scores
        ][:LOWEST]
        return tuple(case_line(self.values, row, index, scores) for index in lowest)


def case_line(
    values: Values, row: int, column: int, scores: Mapping[str, CaseScore], fault: str = ""
) -> CaseStanding:
    """One case of one team; `fault` is the reason for a missing report."""
    case = scores.get(values.cases[column])
    reasons = (fault or "no report that can be scored",) if case is None else case.reasons
    return CaseStanding(
        id=values.cases[column],
        score=values.score[row, column],
        metrics=dict(zip(values.metrics, map(float, values.raw[row, :, column]), strict=True)),
        reason="; ".join(reasons) or None,
    )


def resampled_means(values: Numbers, drawn: Resamples) -> Numbers:
    """Means over cases (the last axis) in every resample, which becomes the first axis."""
    shape, cases = values.shape[:-1], values.shape[-1]
    flat = values.reshape(-1, cases).T
    sums = by_case(np.column_stack([flat, np.ones(cases)]), drawn.case, len(drawn.times))
    totals = drawn.times.T.astype(np.float64) @ sums
    return np.asarray((totals[:, :-1] / totals[:, -1:]).reshape(-1, *shape))


def estimates(observed: Numbers, resampled: Numbers, drawn: Resamples) -> list[Estimate]:
    cases = len(np.unique(drawn.case))
    return [
        estimated(float(value), resampled[:, index], cases) for index, value in enumerate(observed)
    ]


def places(means: Numbers, weights: Numbers, combine: Combine, ties: Ties) -> Numbers:
    """Places of teams from means scaled so that more is better (… x teams x metrics)."""
    if combine == "mean-then-rank":
        return _ranked(means @ weights, ties)
    by_metric = _ranked(np.swapaxes(means, -1, -2), "average")
    return _ranked(-np.swapaxes(by_metric, -1, -2) @ weights, ties)


def mean_ranks(means: Numbers, weights: Numbers) -> Numbers:
    return np.asarray(_ranked(means.T, "average").T @ weights)


def _ranked(scores: Numbers, ties: Ties) -> Numbers:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(scores, _DIGITS), method=ties, axis=-1), np.float64)


def kendall(ranking: Numbers, rankings: Numbers) -> Numbers:
    """Kendall's tau-b of one ranking with each of many (rankings x teams); 1 where all are tied."""
    first, second = np.triu_indices(len(ranking), 1)
    signs = np.sign(ranking[first] - ranking[second])
    other_signs = np.sign(rankings[:, first] - rankings[:, second])
    scale = np.sqrt(np.abs(signs).sum() * np.abs(other_signs).sum(axis=1))
    ones = np.ones(len(rankings))
    return np.asarray(np.divide(other_signs @ signs, scale, out=ones, where=scale > 0))


def place_interval(best: Numbers, worst: Numbers) -> tuple[float, float]:
    """The interval of 95 of 100 resampled places; a shared place covers all that it stands for."""
    low = np.quantile(best, 0.025, method="inverted_cdf")
    high = np.quantile(worst, 0.975, method="inverted_cdf")
    return float(low), float(high)


def shares_of_places(drawn: Numbers, teams: int) -> tuple[float, ...]:
    """The share of the resamples in which a team has each place, from the first to the last."""
    counts = np.bincount(np.floor(drawn).astype(np.intp) - 1, minlength=teams)
    return tuple(float(share) for share in counts / len(drawn))
