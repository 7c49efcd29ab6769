"""Ranking the teams of a challenge, and evaluating one file as a platform does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from histoeval.callers import front_door
from histoeval.challenge.folder import Challenge, open_challenge
from histoeval.challenge.ranking import (
    Ranker,
    TeamScores,
    Values,
    case_line,
    metrics_used,
    values_of,
)
from histoeval.challenge.scoring import CaseScore, score_teams
from histoeval.challenge.standings import ChallengeRanking, Unranked
from histoeval.challenge.teams import FileFault, Team, named_teams, read_team
from histoeval.errors import InputError, SettingError
from histoeval.io.files import ENDINGS
from histoeval.io.submissions import SubmissionProblem
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_json, write_whole, writing_to
from histoeval.run.engines.engine import Engine
from histoeval.run.engines.local import choose_engine
from histoeval.run.models import Models, load_metrics
from histoeval.version import __version__

SCORED = "scores"
"""The folder of what was scored; it has texts of the truth, and is for organisers only."""


@dataclass(frozen=True)
class RankedTeams:
    """A ranking with the values of every case."""

    ranking: ChallengeRanking
    values: Values
    scores: TeamScores

    def cases(self) -> Iterator[dict[str, Any]]:
        """Flat records, one for each team and case."""
        for row, team in enumerate(self.values.teams):
            faults = {fault.id: fault.reason for fault in self.ranking[team].faults}
            for at, id_ in enumerate(self.values.cases):
                why = faults.get(id_, "")
                line = case_line(self.values, row, at, self.scores[team], why)
                more = {"score": line.score, **line.metrics, "reason": line.reason}
                yield {"team": team, "id": id_, **more}

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write `ranking.json`, `ranking.csv` and `cases.csv`."""
        whole = json.dumps(self.ranking.model_dump(mode="json"), indent=1, ensure_ascii=False)
        contents = {
            "ranking.json": whole + "\n",
            "ranking.csv": csv_text(list(self.ranking.records())),
            "cases.csv": csv_text(list(self.cases())),
        }
        with writing_to(folder):
            make_folder(folder)
            for name, content in contents.items():
                write_whole(folder / name, content.encode("utf-8", "backslashreplace"))
        return tuple(folder / name for name in contents)


@front_door
def rank_teams(
    folder: Path | str,
    predictions: Sequence[Path | str],
    *,
    output: Path | str | None = None,
    truth: Path | str | None = None,
    models: Models | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    loose_ids: bool = False,
) -> RankedTeams:
    """Rank teams on the cases of a challenge, by its policy.

    Args:
        folder: the folder of the challenge.
        predictions: a file of each team, which is called like it.
        output: a folder for what was scored; a stopped run resumes there, and a further team costs
            only what is new in its file.
        truth: a truth that is not in the folder.
        models: the models of the metrics; by default those of this package.
        engine: "local", "ray" or "inline", as `histoeval.score` takes it.
        workers: how many processes; by default one per core.
        loose_ids: accept ids that differ only in ending, case, spaces or zeros, whatever the policy
            says.

    Examples:
        >>> found = histoeval.challenge.rank_teams("challenge", ["a.json", "b.json"])
        >>> found.ranking.teams[0].team
    """
    challenge = open_challenge(folder, truth=truth, loose_ids=loose_ids)
    teams = named_teams(challenge, [Path(path) for path in predictions])
    store = None if output is None else Path(output) / SCORED
    return ranked(challenge, teams, models, store, choose_engine(engine, workers))


def ranked(
    challenge: Challenge,
    teams: Sequence[Team],
    models: Models | None,
    store: Path | None,
    engine: Engine,
) -> RankedTeams:
    """Teams that were read, scored and ranked."""
    metrics = load_metrics(list(challenge.policy.metrics), models)
    if no := [f"{m.name} {why}" for m in metrics if (why := m.unavailable_reason())]:
        raise SettingError(f"the policy asks for what cannot run here: {'; '.join(no)}")
    used = metrics_used(challenge.policy, metrics)
    scores = score_teams(challenge, teams, metrics, store, engine=engine)
    cases, notes = _cases(challenge, teams)
    out = {
        team.name: reason for team in teams if (reason := _why_out(challenge, team, scores, cases))
    }
    values, there = values_of({n: s for n, s in scores.items() if n not in out}, used, cases)
    if not values.teams:
        raise InputError(f"no team can be ranked: {'; '.join(f'{n} {w}' for n, w in out.items())}")
    found = Ranker(values, challenge).standings(scores, there)
    by_name = {
        team.name: _with_unscored(challenge, team, scores[team.name], cases) for team in teams
    }
    ranking = ChallengeRanking(
        histoeval=__version__,
        policy=challenge.policy,
        policy_hash=challenge.policy.hash,
        truth=challenge.truth.name,
        truth_sha256=challenge.truth.sha256,
        cases=len(cases),
        groups=found.groups,
        metrics=used,
        teams=tuple(
            standing.model_copy(update={"faults": _faults(team), "sha256": team.sha256})
            for standing in found.teams
            for team in [by_name[standing.team]]
        ),
        unranked=tuple(
            _unranked(by_name[n], why, len(_lacking(used, scores[n], cases)), cases)
            for n, why in out.items()
        ),
        duels=found.duels,
        stability=found.stability,
        without=found.without,
        subgroups=found.subgroups,
        notes=(
            *notes,
            *_remarks(values, there),
            *_without_subgroup(challenge, cases),
            *(f"{team.name}: {note}" for team in teams for note in team.notes),
        ),
    )
    return RankedTeams(ranking, values, scores)


def _cases(challenge: Challenge, teams: Sequence[Team]) -> tuple[tuple[str, ...], list[str]]:
    """The ids that count."""
    if challenge.policy.cases != "shared":
        return challenge.ids, []
    taking = [team for team in teams if team.excluded is None]
    shared = tuple(id_ for id_ in challenge.ids if all(id_ in team.reports for team in taking))
    fewest = min(taking, key=lambda team: len(team.reports), default=None)
    if fewest is None or not shared:
        raise InputError(
            "policy: cases is `shared`, and no id has a report of every team; "
            + (f"{fewest.name} has {len(fewest.reports):,} reports" if fewest else "all are out")
        )
    return shared, [
        f"Ranked on the {len(shared):,} of {len(challenge.ids):,} cases that every team has, as "
        f"the policy says (`cases: shared`); {fewest.name} has the fewest, {len(fewest.reports):,}."
    ]


def _why_out(
    challenge: Challenge, team: Team, scores: TeamScores, cases: Sequence[str]
) -> str | None:
    """Why a team is not ranked."""
    if team.excluded is not None:
        return team.excluded
    lacking = len(_lacking(challenge.policy.metrics, scores[team.name], cases))
    if challenge.policy.missing == "exclude" and lacking:
        return f"lacks {lacking:,} of {len(cases):,} cases, and the policy excludes such teams"
    return None


def _lacking(
    metrics: Mapping[str, Any], scores: Mapping[str, CaseScore], cases: Sequence[str]
) -> list[str]:
    """The cases that have no value by some metric."""
    return [
        id_
        for id_ in cases
        if id_ not in scores or any(name not in scores[id_].values for name in metrics)
    ]


def _with_unscored(
    challenge: Challenge, team: Team, scores: Mapping[str, CaseScore], cases: Sequence[str]
) -> Team:
    """The team with a fault for each report that some metric could not score."""
    faults = [
        SubmissionProblem(id_, None, "not_scored", "; ".join(scores[id_].reasons))
        for id_ in _lacking(challenge.policy.metrics, scores, cases)
        if id_ in scores
    ]
    return replace(team, problems=(*team.problems, *faults))


def _faults(team: Team) -> tuple[FileFault, ...]:
    return tuple(FileFault(**problem._asdict()) for problem in team.problems)


def _unranked(team: Team, why: str, missing: int, cases: Sequence[str]) -> Unranked:
    return Unranked(
        team=team.name,
        reason=why,
        scored=len(cases) - missing,
        missing=missing,
        faults=_faults(team),
    )


def _without_subgroup(challenge: Challenge, cases: Sequence[str]) -> list[str]:
    """Cases that are in no table of a subgroup, where there are such tables."""
    lacking = [id_ for id_ in cases if id_ not in challenge.subgroups]
    if challenge.policy.subgroups is None or not lacking:
        return []
    return [
        f"{challenge.policy.subgroups} has no subgroup for {len(lacking):,} of {len(cases):,} "
        f"cases, {lacking[0]!r} the first."
    ]


def _remarks(values: Values, there: NDArray[np.bool_]) -> list[str]:
    """What to know of teams that lack cases."""
    lacking = {
        team: int(count)
        for team, count in zip(values.teams, (~there).sum(axis=1), strict=True)
        if count
    }
    if not lacking:
        return []
    most = max(lacking, key=lambda team: lacking[team])
    return [
        f"{len(lacking):,} of {len(values.teams):,} teams lack cases, {most} the most "
        f"({lacking[most]:,} of {len(values.cases):,}); each counts with the worst value."
    ]


PREDICTIONS = "predictions.json"
METRICS = "metrics.json"

MOST_NAMED = 5


@front_door
def evaluate_predictions(
    folder: Path | str,
    predictions: Path | str,
    *,
    output: Path | str | None = None,
    truth: Path | str | None = None,
    models: Models | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
) -> dict[str, Any]:
    """The metrics of one file of predictions, with a result for every case.

    Args:
        folder: the folder of the challenge.
        predictions: a file; or a folder with `predictions.json` in it, or with one table.
        output: a folder for `metrics.json`.
        truth: a truth that is not in the folder of the challenge.
        models: the models of the metrics; by default those of this package.
        engine: "local", "ray" or "inline", as `histoeval.score` takes it.
        workers: how many processes; by default one per core.

    Returns:
        What `metrics.json` holds: `aggregates`, `results` by case, and `problems` of the file. No
        text of the truth is in it.

    Examples:
        >>> found = histoeval.challenge.evaluate_predictions("challenge", "predictions.json")
        >>> found["aggregates"]["score"]
    """
    challenge = open_challenge(folder, truth=truth)
    team = read_team(challenge, predictions_in(Path(predictions)))
    if not team.reports:
        why = f", for example: {team.problems[0].reason}" if team.problems else ""
        raise InputError(f"{team.name} has no report for any of {len(challenge.ids):,} cases{why}")
    found = ranked(challenge, [team], models, None, choose_engine(engine, workers))
    content = _content(found)
    if output is not None:
        with writing_to(Path(output)):
            make_folder(Path(output))
            write_json(Path(output) / METRICS, content, private=False)
    return content


def predictions_in(path: Path) -> Path:
    """The file of predictions: itself, `predictions.json`, or the one table below a folder."""
    if not path.is_dir():
        return path
    if (path / PREDICTIONS).is_file():
        return path / PREDICTIONS
    tables = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and file.suffix.lower() in ENDINGS and file.name[0] != "."
    ]
    named = [file for file in tables if file.stem == Path(PREDICTIONS).stem]
    found = named if len(named) == 1 else tables
    if len(found) == 1:
        return found[0]
    names = ", ".join(str(file.relative_to(path)) for file in found[:MOST_NAMED])
    raise InputError(
        f"{path} has no {PREDICTIONS}"
        + (f", and {len(found)} files instead: {names}" if names else "")
    )


def _content(found: RankedTeams) -> dict[str, Any]:
    """What `metrics.json` holds: nothing that quotes the truth."""
    ranking = found.ranking
    team = ranking.teams[0]
    aggregates: dict[str, Any] = {"score": team.score.model_dump(mode="json", exclude={"p"})}
    for name, metric in team.metrics.items():
        aggregates[name] = metric.mean.model_dump(mode="json", exclude={"p"})
    subgroups = {
        name: {"cases": ranking.subgroups[name], "score": each.score.value, **each.metrics}
        for name, each in team.subgroups.items()
    }
    return {
        "aggregates": {
            **aggregates,
            "cases": ranking.cases,
            "scored": team.scored,
            "missing": team.missing,
            "subgroups": subgroups,
        },
        "results": [
            {key: value for key, value in case.items() if key != "team"} for case in found.cases()
        ],
        "problems": [fault.model_dump(mode="json") for fault in team.faults],
        "metrics": {name: used.model_dump(mode="json") for name, used in ranking.metrics.items()},
        "policy": ranking.policy_hash,
        "truth_sha256": ranking.truth_sha256,
        "histoeval": __version__,
    }
