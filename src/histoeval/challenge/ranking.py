"""From scores to a ranking: order, significance, stability and subgroups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

LOWEST = 10
"""Cases shown of a team: those with the lowest scores."""

TeamScores = Mapping[str, Mapping[str, CaseScore]]


def metrics_used(policy: ChallengePolicy, metrics: Sequence[Metric]) -> dict[str, MetricUsed]:
    """How each metric counts, by the policy and by its own range."""
    return {metric.name: _used(policy, metric) for metric in metrics}


def _used(policy: ChallengePolicy, metric: Metric) -> MetricUsed:
    rule = policy.metrics[metric.name]
    up = metric.higher_is_better if rule.direction is None else rule.direction == "up"
    low, high = metric.range
    ends = {"worst": low if up else high, "best": high if up else low}
    given = {"worst": rule.worst, "best": rule.best}
    found = {name: ends[name] if value is None else value for name, value in given.items()}
    for name, value in found.items():
        if not isfinite(value):
            raise SettingError(
                f"policy: metrics.{metric.name}.{name} is needed, as the metric has no limit there"
            )
    if (found["best"] > found["worst"]) != up:
        raise SettingError(
            f"policy: metrics.{metric.name} has the worst value {found['worst']:g} and the best "
            f"value {found['best']:g}, but {'more' if up else 'less'} is better"
        )
    return MetricUsed(
        signature=str(metric.signature),
        weight=policy.weights[metric.name],
        higher_is_better=up,
        **found,
    )


def values_of(
    scores: TeamScores, used: Mapping[str, MetricUsed], cases: Sequence[str]
) -> tuple[Values, NDArray[np.bool_]]:
    """The scores as numbers, with the worst value for what is missing, and what is there."""
    numbers = {team: {id_: each.values for id_, each in by.items()} for team, by in scores.items()}
    worst = [each.worst for each in used.values()]
    raw, there = filled(numbers, list(used), cases, worst)
    best, weights = ([getattr(u, name) for u in used.values()] for name in ("best", "weight"))
    values = Values(
        tuple(scores),
        tuple(used),
        tuple(cases),
        raw,
        np.array(worst),
        np.array(best),
        np.array(weights),
    )
    return values, there


@dataclass(frozen=True)
class Standings:
    """What is worked out of values under a policy."""

    teams: tuple[TeamStanding, ...]
    duels: tuple[Duel, ...]
    stability: RankStability
    without: dict[str, RankStability]
    subgroups: dict[str, int]
    groups: int


class Ranker:
    """Works out standings; every resample is used for all of them."""

    def __init__(self, values: Values, challenge: Challenge) -> None:
        self.values, self.policy = values, challenge.policy
        groups = [challenge.groups.get(id_, id_) for id_ in values.cases]
        self.drawn = resample(groups, self.policy.resamples, self.policy.seed)
        self.means = values.scaled.mean(axis=2)
        self.drawn_means = resampled_means(values.scaled, self.drawn)
        self.places = self._places(self.means)
        self.drawn_places = places(self.drawn_means, values.weights, self.policy.combine, "min")
        labels = [challenge.subgroups.get(id_) for id_ in values.cases]
        named = sorted({label for label in labels if label is not None})
        self.rows = {
            name: np.array([r for r, label in enumerate(labels) if label == name], np.intp)
            for name in named
        }

    def _places(self, means: Numbers, weights: Numbers | None = None) -> Numbers:
        used = self.values.weights if weights is None else weights
        return places(means, used, self.policy.combine, self.policy.ties)

    def _shared_places(self) -> tuple[Numbers, Numbers]:
        """The best and the worst place of each team in every resample, where it shares some.

        Two teams that share 4.5 (`ties: average`) have places 4 and 5; by `min` and `dense` both
        have one place.
        """
        ties = self.policy.ties
        ends: tuple[Literal["min", "max", "dense"], ...] = (
            ("min", "max") if ties == "average" else (ties, ties)
        )
        best, worst = (
            places(self.drawn_means, self.values.weights, self.policy.combine, end) for end in ends
        )
        return best, worst

    def standings(self, scores: TeamScores, there: NDArray[np.bool_]) -> Standings:
        """Everything, the best team first."""
        duels = self._duels()
        tiers = self._tiers(duels)
        without = self._without()
        teams = self._teams(scores, there, tiers, without)
        return Standings(
            tuple(sorted(teams, key=lambda each: (each.place, each.team))),
            tuple(duels),
            self._stability(self.drawn_places),
            {name: self._stability(found[None]) for name, found in without.items()},
            {name: len(rows) for name, rows in self.rows.items()},
            len(self.drawn.times),
        )

    def _duels(self) -> Sequence[Duel]:
        """Every two teams by their score, swapped on whole groups, with Holm's correction."""
        policy, teams = self.policy, self.values.teams
        if len(teams) < 2:
            return ()
        count = len(teams) * (len(teams) - 1) // 2
        found = contest(
            dict(zip(teams, self.values.score, strict=True)),
            self.drawn.case.tolist(),
            resamples=policy.resamples,
            permutations=max(policy.permutations, ceil(2 * count / policy.level)),
            seed=policy.seed,
        )
        return found.duels

    def _tiers(self, duels: Sequence[Duel]) -> dict[str, int]:
        """A new tier begins where a team of the last one is significantly better."""
        order = dict(zip(self.values.teams, -self.places, strict=True))
        known = {}
        for duel in duels:
            gap = order[duel.one] - order[duel.other]
            agrees = gap * (duel.difference.value or 0.0) > 0
            known[frozenset({duel.one, duel.other})] = duel.holm if agrees else None
        return significance_clusters(order, known, self.policy.level)

    def _without(self) -> dict[str, Numbers]:
        """Places where one metric does not count, for each of several metrics."""
        found = {}
        for place, name in enumerate(self.values.metrics):
            rest = self.values.weights.copy()
            rest[place] = 0.0
            if rest.any():
                found[name] = self._places(self.means, rest / rest.sum())
        return found

    def _stability(self, rankings: Numbers) -> RankStability:
        tau = kendall(self.places, rankings)
        first = self.places == self.places.min()
        same = (rankings[:, first] == rankings.min(axis=1, keepdims=True)).any(axis=1)
        low, high = np.quantile(tau, [0.025, 0.975]) if len(tau) > 1 else (None, None)
        return RankStability(
            tau=float(tau.mean()), tau_low=low, tau_high=high, same_first=float(same.mean())
        )

    def _teams(
        self,
        scores: TeamScores,
        there: NDArray[np.bool_],
        tiers: Mapping[str, int],
        without: Mapping[str, Numbers],
    ) -> list[TeamStanding]:
        values = self.values
        whole = estimates(values.score.mean(axis=1), self.drawn_means @ values.weights, self.drawn)
        ranks = mean_ranks(self.means, values.weights)
        metrics = self._metrics(without)
        subgroups = self._subgroups()
        best, worst = self._shared_places()
        found = []
        for row, team in enumerate(values.teams):
            low, high = place_interval(best[:, row], worst[:, row])
            found.append(
                TeamStanding(
                    team=team,
                    place=self.places[row],
                    tier=tiers[team],
                    score=whole[row],
                    mean_rank=ranks[row],
                    place_low=low,
                    place_high=high,
                    place_shares=shares_of_places(self.drawn_places[:, row], len(values.teams)),
                    scored=int(there[row].sum()),
                    missing=int((~there[row]).sum()),
                    metrics=metrics[row],
                    subgroups=subgroups[row],
                    lowest=self._lowest(row, scores[team], there[row]),
                )
            )
        return found

    def _metrics(self, without: Mapping[str, Numbers]) -> list[dict[str, MetricStanding]]:
        values = self.values
        found: list[dict[str, MetricStanding]] = [{} for _ in values.teams]
        drawn = resampled_means(values.raw, self.drawn)
        for place, name in enumerate(values.metrics):
            means = estimates(values.raw[:, place].mean(axis=1), drawn[:, :, place], self.drawn)
            alone = self._places(self.means[:, [place]], np.ones(1))
            for row, mean in enumerate(means):
                other = float(without[name][row]) if name in without else None
                found[row][name] = MetricStanding(mean=mean, place=alone[row], place_without=other)
        return found

    def _subgroups(self) -> list[dict[str, SubgroupStanding]]:
        values = self.values
        found: list[dict[str, SubgroupStanding]] = [{} for _ in values.teams]
        for name, rows in self.rows.items():
            part, drawn = values.only(rows), self.drawn.of(rows)
            at = self._places(part.scaled.mean(axis=2))
            raw = part.raw.mean(axis=2)
            for row, column in enumerate(part.score):
                found[row][name] = SubgroupStanding(
                    score=estimate(mean_of(column, drawn), drawn),
                    place=at[row],
                    metrics=dict(zip(values.metrics, map(float, raw[row]), strict=True)),
                )
        return found

    def _lowest(
        self, row: int, scores: Mapping[str, CaseScore], there: NDArray[np.bool_]
    ) -> tuple[CaseStanding, ...]:
        """The scored cases with the lowest scores."""
        order = np.argsort(self.values.score[row], kind="stable")
        shown = [at for at in order if there[at] or self.values.cases[at] in scores][:LOWEST]
        return tuple(case_line(self.values, row, at, scores) for at in shown)


def case_line(
    values: Values, row: int, at: int, scores: Mapping[str, CaseScore], why: str = ""
) -> CaseStanding:
    """One case of one team; `why` is why it has no report."""
    case = scores.get(values.cases[at])
    reasons = (why or "no report that can be scored",) if case is None else case.reasons
    return CaseStanding(
        id=values.cases[at],
        score=values.score[row, at],
        metrics=dict(zip(values.metrics, map(float, values.raw[row, :, at]), strict=True)),
        reason="; ".join(reasons) or None,
    )


Ties = Literal["min", "dense", "average"]
Combine = Literal["mean-then-rank", "rank-then-mean"]

_DIGITS = 12
"""Scores that differ only beyond these are equal."""


@dataclass(frozen=True)
class Values:
    """Values of teams x metrics x cases, all there; `worst` and `best` count as 0 and 1."""

    teams: tuple[str, ...]
    metrics: tuple[str, ...]
    cases: tuple[str, ...]
    raw: Numbers
    worst: Numbers
    best: Numbers
    weights: Numbers

    @cached_property
    def scaled(self) -> Numbers:
        """From 0, the worst, to 1, the best."""
        worst, best = self.worst[None, :, None], self.best[None, :, None]
        return np.clip((self.raw - worst) / (best - worst), 0.0, 1.0)

    @cached_property
    def score(self) -> Numbers:
        """The weighted mean of the metrics (teams x cases)."""
        return np.asarray(np.einsum("tmc,m->tc", self.scaled, self.weights))

    def only(self, rows: NDArray[np.intp]) -> Values:
        """The same on some cases."""
        cases = tuple(self.cases[row] for row in rows)
        return Values(
            self.teams,
            self.metrics,
            cases,
            self.raw[:, :, rows],
            self.worst,
            self.best,
            self.weights,
        )


def resampled_means(values: Numbers, drawn: Resamples) -> Numbers:
    """Means over cases (the last axis) in every resample, which becomes the first axis."""
    shape, cases = values.shape[:-1], values.shape[-1]
    flat = values.reshape(-1, cases).T
    sums = by_case(np.column_stack([flat, np.ones(cases)]), drawn.case, len(drawn.times))
    totals = drawn.times.T.astype(np.float64) @ sums
    return np.asarray((totals[:, :-1] / totals[:, -1:]).reshape(-1, *shape))


def estimates(observed: Numbers, resampled: Numbers, drawn: Resamples) -> list[Estimate]:
    """A value with its interval for each of a row of means."""
    cases = len(np.unique(drawn.case))
    return [
        estimated(float(value), resampled[:, place], cases) for place, value in enumerate(observed)
    ]


def places(
    means: Numbers, weights: Numbers, combine: Combine, ties: Ties | Literal["max"]
) -> Numbers:
    """Places of teams from means scaled so that more is better (… x teams x metrics)."""
    if combine == "mean-then-rank":
        return _ranked(means @ weights, ties)
    by_metric = _ranked(np.swapaxes(means, -1, -2), "average")
    return _ranked(-np.swapaxes(by_metric, -1, -2) @ weights, ties)


def mean_ranks(means: Numbers, weights: Numbers) -> Numbers:
    """The weighted mean of a team's ranks by each metric (teams x metrics)."""
    return np.asarray(_ranked(means.T, "average").T @ weights)


def _ranked(scores: Numbers, ties: Ties | Literal["max"]) -> Numbers:
    from scipy.stats import rankdata

    return np.asarray(rankdata(-np.round(scores, _DIGITS), method=ties, axis=-1), np.float64)


def kendall(one: Numbers, others: Numbers) -> Numbers:
    """Kendall's tau-b of one ranking with each of many (rankings x teams); 1 where all are tied."""
    first, second = np.triu_indices(len(one), 1)
    a = np.sign(one[first] - one[second])
    b = np.sign(others[:, first] - others[:, second])
    below = np.sqrt(np.abs(a).sum() * np.abs(b).sum(axis=1))
    return np.asarray(np.divide(b @ a, below, out=np.ones(len(others)), where=below > 0))


def place_interval(best: Numbers, worst: Numbers) -> tuple[float, float]:
    """The places that 95 of 100 resamples lie within: a shared one is all places it stands for."""
    low = np.quantile(best, 0.025, method="inverted_cdf")
    high = np.quantile(worst, 0.975, method="inverted_cdf")
    return float(low), float(high)


def shares_of_places(drawn: Numbers, teams: int) -> tuple[float, ...]:
    """In which share of the resamples a team has each place, from the first to the last."""
    counts = np.bincount(np.floor(drawn).astype(np.intp) - 1, minlength=teams)
    return tuple(float(share) for share in counts / len(drawn))


def filled(
    found: Mapping[str, Mapping[str, Mapping[str, float]]],
    metrics: Sequence[str],
    cases: Sequence[str],
    worst: Sequence[float],
) -> tuple[Numbers, NDArray[np.bool_]]:
    """Values of teams x metrics x cases with the worst where there is none, and where there is."""
    raw = np.empty((len(found), len(metrics), len(cases)))
    raw[:] = np.asarray(worst)[None, :, None]
    there = np.zeros((len(found), len(cases)), dtype=np.bool_)
    for row, by_case_ in enumerate(found.values()):
        for column, case in enumerate(cases):
            values = by_case_.get(case, {})
            there[row, column] = all(metric in values for metric in metrics)
            for place, metric in enumerate(metrics):
                if metric in values:
                    raw[row, place, column] = values[metric]
    return raw, there
