"""Ranking the teams of a challenge, and evaluating one file as a platform does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from histoeval.argument_names import front_door
from histoeval.challenge.folder import Challenge, open_challenge
from histoeval.challenge.ranking import (
    Ranker,
    TeamScores,
    Values,
    case_line,
    metric_used,
    values_of,
)
from histoeval.challenge.scoring import score_teams
from histoeval.challenge.standings import ChallengeRanking, Unranked
from histoeval.challenge.teams import Team, named_teams, read_team
from histoeval.errors import InputError, SettingError
from histoeval.io.files import ENDINGS
from histoeval.io.submissions import SubmissionProblem
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_json, write_whole, writing_to
from histoeval.run.engines.engine import Engine
from histoeval.run.models import Models, load_metrics
from histoeval.run.settings import EngineSettings
from histoeval.version import __version__

SCORED = "scores"  # a folder with texts of the truth: for organisers only


@dataclass(frozen=True)
class RankedTeams:
    ranking: ChallengeRanking
    values: Values
    scores: TeamScores

    def cases(self) -> Iterator[dict[str, Any]]:
        for row, team in enumerate(self.values.teams):
            faults = {fault.id: fault.reason for fault in self.ranking[team].faults}
            for column, id_ in enumerate(self.values.cases):
                line = case_line(self.values, row, column, self.scores[team], faults.get(id_, ""))
                cells = {"score": line.score, **line.metrics, "reason": line.reason}
                yield {"team": team, "id": id_, **cells}

    def write(self, folder: Path) -> tuple[Path, ...]:
        text = json.dumps(self.ranking.model_dump(mode="json"), indent=1, ensure_ascii=False)
        contents = {
            "ranking.json": text + "\n",
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
    return ranked(
        challenge,
        teams,
        models,
        store,
        EngineSettings(engine=engine, workers=workers).choose_engine(),
    )


def ranked(
    challenge: Challenge,
    teams: Sequence[Team],
    models: Models | None,
    store: Path | None,
    engine: Engine,
) -> RankedTeams:
    policy = challenge.policy
    metrics = load_metrics(list(policy.metrics), models)
    if unusable := [f"{m.name} {cause}" for m in metrics if (cause := m.unavailable_reason())]:
        raise SettingError(f"the policy asks for what cannot run here: {'; '.join(unusable)}")
    used = {metric.name: metric_used(policy, metric) for metric in metrics}
    scores = score_teams(challenge, teams, metrics, used, store, engine=engine)
    cases, notes = _cases(challenge, teams)
    excluded: dict[str, str] = {}
    lacking: dict[str, int] = {}
    faults: dict[str, tuple[SubmissionProblem, ...]] = {}
    for team in teams:
        results = scores[team.name]
        complete = {id_ for id_, case in results.items() if used.keys() <= case.values.keys()}
        unscored = [id_ for id_ in cases if id_ not in complete]
        lacking[team.name] = len(unscored)
        faults[team.name] = (
            *team.problems,
            *(
                SubmissionProblem(id_, None, "not_scored", "; ".join(results[id_].reasons))
                for id_ in unscored
                if id_ in results
            ),
        )
        if team.excluded is not None:
            excluded[team.name] = team.excluded
        elif policy.missing == "exclude" and unscored:
            excluded[team.name] = (
                f"lacks {len(unscored):,} of {len(cases):,} cases, and the policy excludes such "
                "teams"
            )
    counted = {name: results for name, results in scores.items() if name not in excluded}
    values, is_scored = values_of(counted, used, cases)
    if not values.teams:
        reasons = "; ".join(f"{name} {reason}" for name, reason in excluded.items())
        raise InputError(f"no team can be ranked: {reasons}")
    ranker = Ranker(values, challenge)
    digests = {team.name: team.sha256 for team in teams}
    ranking = ChallengeRanking(
        histoeval=__version__,
        policy=policy,
        policy_hash=policy.hash,
        truth=challenge.truth.name,
        truth_sha256=challenge.truth.sha256,
        cases=len(cases),
        groups=len(ranker.drawn.times),
        metrics=used,
        teams=tuple(
            standing.model_copy(
                update={"faults": faults[standing.team], "sha256": digests[standing.team]}
            )
            for standing in ranker.standings(scores, is_scored)
        ),
        unranked=tuple(
            Unranked(
                team=name,
                reason=reason,
                scored=len(cases) - lacking[name],
                missing=lacking[name],
                faults=faults[name],
            )
            for name, reason in excluded.items()
        ),
        duels=tuple(ranker.duels),
        stability=ranker.stability(),
        without={name: ranker.stability(results[None]) for name, results in ranker.without.items()},
        subgroups={name: len(rows) for name, rows in ranker.subgroups.items()},
        notes=(
            *notes,
            *_notes(challenge, cases, {team: lacking[team] for team in values.teams}),
            *(f"{team.name}: {note}" for team in teams for note in team.notes),
        ),
    )
    return RankedTeams(ranking, values, scores)


def _cases(challenge: Challenge, teams: Sequence[Team]) -> tuple[tuple[str, ...], list[str]]:
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


def _notes(challenge: Challenge, cases: Sequence[str], lacking: Mapping[str, int]) -> Iterator[str]:
    poorest = max(lacking, key=lambda team: lacking[team])
    if lacking[poorest]:
        yield (
            f"{sum(map(bool, lacking.values())):,} of {len(lacking):,} teams lack cases, {poorest} "
            f"the most ({lacking[poorest]:,} of {len(cases):,}); each counts with the worst value."
        )
    file = challenge.policy.subgroups
    unlabelled = [id_ for id_ in cases if id_ not in challenge.subgroups]
    if file is not None and unlabelled:
        yield (
            f"{file} has no subgroup for {len(unlabelled):,} of {len(cases):,} cases, "
            f"{unlabelled[0]!r} the first."
        )


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
        example = f", for example: {team.problems[0].reason}" if team.problems else ""
        raise InputError(
            f"{team.name} has no report for any of {len(challenge.ids):,} cases{example}"
        )
    content = _content(
        ranked(
            challenge,
            [team],
            models,
            None,
            EngineSettings(engine=engine, workers=workers).choose_engine(),
        )
    )
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
    candidates = [file for file in tables if file.stem == Path(PREDICTIONS).stem]
    files = candidates if len(candidates) == 1 else tables
    if len(files) == 1:
        return files[0]
    names = ", ".join(str(file.relative_to(path)) for file in files[:MOST_NAMED])
    instead = f", and {len(files)} files instead: {names}" if names else ""
    raise InputError(f"{path} has no {PREDICTIONS}{instead}")


def _content(evaluated: RankedTeams) -> dict[str, Any]:
    """The content of `metrics.json`: nothing that quotes the truth."""
    ranking = evaluated.ranking
    team = ranking.teams[0]
    estimates = {"score": team.score} | {name: m.mean for name, m in team.metrics.items()}
    subgroups = {
        name: {"cases": ranking.subgroups[name], "score": part.score.value, **part.metrics}
        for name, part in team.subgroups.items()
    }
    return {
        "aggregates": {
            **{name: e.model_dump(mode="json", exclude={"p"}) for name, e in estimates.items()},
            "cases": ranking.cases,
            "scored": team.scored,
            "missing": team.missing,
            "subgroups": subgroups,
        },
        "results": [
            {key: value for key, value in case.items() if key != "team"}
            for case in evaluated.cases()
        ],
        "problems": [asdict(fault) for fault in team.faults],
        "metrics": {name: used.model_dump(mode="json") for name, used in ranking.metrics.items()},
        "policy": ranking.policy_hash,
        "truth_sha256": ranking.truth_sha256,
        "histoeval": __version__,
    }
