"""The scores of all teams: each different pair of texts once, whoever handed it in.

Teams copy each other, versions of one system repeat themselves, and many cases have the same short
report. What was scored stays in a folder, so that a stopped run resumes and a new team costs only
what is new in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from histoeval.challenge.folder import Challenge
from histoeval.challenge.teams import Team
from histoeval.errors import HistoEvalError
from histoeval.io.folder_kinds import SCORES
from histoeval.io.pairs import source_of_records
from histoeval.io.results import ResultFolder, ResultRow
from histoeval.io.store import read_json
from histoeval.io.tables.columns import Columns
from histoeval.metric import Metric
from histoeval.progress import row_progress
from histoeval.run.engines.engine import INLINE, Engine
from histoeval.run.score import score_source
from histoeval.terms.language import READ_AS_IT_IS

PairTexts = tuple[str, str]
"""A reference and a candidate."""

_COLUMNS = Columns(reference="reference", candidates=("candidate",), id="id")


class CaseScore(NamedTuple):
    """The values of one case by metric, and why those that are missing are."""

    values: Mapping[str, float]
    reasons: tuple[str, ...] = ()


def score_teams(
    challenge: Challenge,
    teams: Sequence[Team],
    metrics: Sequence[Metric],
    store: Path | None = None,
    *,
    engine: Engine = INLINE,
) -> dict[str, dict[str, CaseScore]]:
    """The scores of every team by case; with a store, nothing is scored twice."""
    pairs = {pair: pair_key(*pair) for pair in _pairs(challenge, teams)}
    known = {} if store is None else _stored(store, metrics)
    if fresh := {pair: key for pair, key in pairs.items() if key not in known}:
        known |= _scored(fresh, metrics, store, engine)
    ups = {metric.name: _is_up(challenge, metric) for metric in metrics}
    mean = challenge.policy.references == "mean"

    def case(id_: str, text: str) -> CaseScore:
        rows = [known[pairs[reference, text]] for reference in challenge.truth.references[id_]]
        return _combined(rows, ups, mean=mean)

    return {team.name: {id_: case(id_, t) for id_, t in team.reports.items()} for team in teams}


def _is_up(challenge: Challenge, metric: Metric) -> bool:
    direction = challenge.policy.metrics[metric.name].direction
    return metric.higher_is_better if direction is None else direction == "up"


def pair_key(reference: str, candidate: str) -> str:
    """The name of a pair of texts, the same wherever it comes up."""
    lengths = f"{len(reference)}:".encode()
    return hashlib.sha256(lengths + f"{reference}{candidate}".encode()).hexdigest()[:24]


def _pairs(challenge: Challenge, teams: Sequence[Team]) -> Iterator[PairTexts]:
    """By case, so that a reference is read once for all teams."""
    for id_ in challenge.ids:
        for reference in challenge.truth.references[id_]:
            for team in teams:
                if id_ in team.reports:
                    yield reference, team.reports[id_]


def _scored(
    pairs: Mapping[PairTexts, str], metrics: Sequence[Metric], store: Path | None, engine: Engine
) -> dict[str, ResultRow]:
    records = [
        {"id": key, "reference": reference, "candidate": candidate}
        for (reference, candidate), key in pairs.items()
    ]
    digest = hashlib.sha256("".join(pairs.values()).encode()).hexdigest()[:12]
    folder = None if store is None else ResultFolder(store / f"pairs-{digest}")
    # a folder of these pairs whose scores were made otherwise
    is_outdated = (
        folder is not None and folder.meta.is_file() and not _is_of(folder.meta.parent, metrics)
    )
    source = source_of_records(records, _COLUMNS)
    with row_progress(source) as watch:
        done = score_source(
            source,
            metrics,
            folder,
            overwrite=is_outdated,
            engine=engine,
            watch=watch,
        )
    return {row.id: row for row in done.rows}


def _is_of(folder: Path, metrics: Sequence[Metric]) -> bool:
    """Whether the scores of a folder are those of these metrics, in the same version."""
    try:
        made = read_json(folder / "run.json", folder).get("metrics")
    except (HistoEvalError, OSError):
        return False
    return made == {metric.name: str(metric.signature) for metric in metrics}


def _stored(store: Path, metrics: Sequence[Metric]) -> dict[str, ResultRow]:
    """What earlier runs have scored, also those that were stopped; failures are tried again."""
    found = {}
    for folder in sorted(store.glob("pairs-*")):
        if _is_of(folder, metrics):
            for row in _whole_rows(folder / SCORES):
                if not row.errors:
                    found[row.id] = row
    return found


def _whole_rows(file: Path) -> Iterator[ResultRow]:
    """The rows of a file up to one that a killed run has not finished."""
    if not file.is_file():
        return
    with file.open("rb") as lines:
        for line in lines:
            try:
                yield ResultRow.model_validate_json(line)
            except ValueError:
                return


def _combined(rows: Iterable[ResultRow], ups: Mapping[str, bool], *, mean: bool) -> CaseScore:
    """One value of each metric: of the only reference, the best one, or the mean of all."""
    rows = list(rows)
    values = {}
    for name, up in ups.items():
        found = [row.scores[name].value for row in rows if name in row.scores]
        if found:
            values[name] = sum(found) / len(found) if mean else (max if up else min)(found)
    reasons = [
        f"{error.metric}: {error.message.removesuffix(READ_AS_IT_IS)}"  # teams choose no metrics
        for row in rows
        for error in row.errors
    ]
    return CaseScore(values, tuple(dict.fromkeys(reasons)))
