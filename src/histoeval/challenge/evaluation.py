"""One file evaluated as a platform does it: `/input/predictions.json` to `/output/metrics.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from histoeval.callers import front_door
from histoeval.challenge.folder import open_challenge
from histoeval.challenge.rank import RankedTeams, ranked
from histoeval.challenge.teams import read_team
from histoeval.errors import InputError
from histoeval.io.files import ENDINGS
from histoeval.io.writing import make_folder, write_json, writing_to
from histoeval.run.engines.engine import Engine
from histoeval.run.engines.local import choose_engine
from histoeval.run.models import Models
from histoeval.version import __version__

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
