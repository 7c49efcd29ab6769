"""The nouns of a ranking: what `ranking.json` holds and pages show."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import Field, FiniteFloat, ValidationError

from histoeval.agreement.systems import Duel
from histoeval.challenge.policy import ChallengePolicy
from histoeval.errors import InputError
from histoeval.io.folder_kinds import RANKING, wrong_folder
from histoeval.io.submissions import SubmissionProblem
from histoeval.report import Noun
from histoeval.statistics.resampling import Estimate


class MetricStanding(Noun):
    """The mean of a team by one metric, with its interval, and its place by that metric alone."""

    mean: Estimate
    place: FiniteFloat
    place_without: FiniteFloat | None = None  # the team's place without this metric


class SubgroupStanding(Noun):
    score: Estimate
    place: FiniteFloat
    metrics: dict[str, FiniteFloat]


class CaseStanding(Noun):
    """The score of one case, and the reason if it got the worst value for want of a score."""

    id: str
    score: FiniteFloat
    metrics: dict[str, FiniteFloat]
    reason: str | None = None


class TeamStanding(Noun):
    """A team in the ranking.

    Teams of one `tier` do not differ significantly from its first. `place_shares` is in which share
    of the resamples it has the first, second, … place, and `place_low` to `place_high` is where
    95 % of them have it.
    """

    team: str
    place: FiniteFloat
    tier: int
    score: Estimate
    mean_rank: FiniteFloat
    place_low: FiniteFloat
    place_high: FiniteFloat
    place_shares: tuple[FiniteFloat, ...]
    scored: int
    missing: int
    metrics: dict[str, MetricStanding]
    subgroups: dict[str, SubgroupStanding] = Field(default_factory=dict)
    faults: tuple[SubmissionProblem, ...] = ()
    lowest: tuple[CaseStanding, ...] = ()
    sha256: str = ""


class Unranked(Noun):
    team: str
    reason: str
    scored: int
    missing: int
    faults: tuple[SubmissionProblem, ...] = ()


class MetricUsed(Noun):
    signature: str
    weight: FiniteFloat
    higher_is_better: bool
    worst: FiniteFloat
    best: FiniteFloat


class RankStability(Noun):
    """Stability of a ranking against others: Kendall's tau-b and share with the same first."""

    tau: FiniteFloat
    tau_low: FiniteFloat | None = None
    tau_high: FiniteFloat | None = None
    same_first: FiniteFloat  # share of the rankings whose first team is the first team


class ChallengeRanking(Noun):
    """All teams, the best first, and how firm their order is."""

    histoeval: str
    policy: ChallengePolicy
    policy_hash: str
    truth: str
    truth_sha256: str
    cases: int
    groups: int
    metrics: dict[str, MetricUsed]
    teams: tuple[TeamStanding, ...]
    unranked: tuple[Unranked, ...] = ()
    duels: tuple[Duel, ...] = ()
    stability: RankStability | None = None  # over resamples of the cases
    without: dict[str, RankStability] = Field(default_factory=dict)  # without each of the metrics
    subgroups: dict[str, int] = Field(default_factory=dict)  # cases of each subgroup
    notes: tuple[str, ...] = ()

    def __getitem__(self, team: str) -> TeamStanding:
        return {standing.team: standing for standing in self.teams}[team]

    def __repr__(self) -> str:
        order = ", ".join(f"{standing.place:g}. {standing.team}" for standing in self.teams[:5])
        return f"<ChallengeRanking of {len(self.teams)} teams on {self.cases} cases: {order}>"

    __str__ = __repr__

    def records(self) -> Iterator[dict[str, Any]]:
        for standing in self.teams:
            cells: dict[str, float | None] = {}
            for name, metric in standing.metrics.items():
                mean, place_alone, place_without = metric.mean, metric.place, metric.place_without
                cells |= {name: mean.value, f"{name}.low": mean.low, f"{name}.high": mean.high}
                cells |= {f"{name}.place": place_alone, f"{name}.place_without": place_without}
            for name, part in standing.subgroups.items():
                cells[f"{name}.score"] = part.score.value
            yield {
                "place": standing.place,
                "tier": standing.tier,
                "team": standing.team,
                "score": standing.score.value,
                "score.low": standing.score.low,
                "score.high": standing.score.high,
                "mean_rank": standing.mean_rank,
                "place.low": standing.place_low,
                "place.high": standing.place_high,
                "first": standing.place_shares[0],
                "scored": standing.scored,
                "missing": standing.missing,
                **cells,
            }


def read_ranking(folder: Path) -> ChallengeRanking:
    file = folder / RANKING if folder.is_dir() else folder
    if not file.is_file():
        raise wrong_folder(folder, f"has no {RANKING}: `histoeval challenge rank` writes one")
    try:
        return ChallengeRanking.model_validate(json.loads(file.read_text("utf-8")))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, ValidationError) as error:
        raise InputError(f"{file} is not a ranking of this version: rank again") from error
