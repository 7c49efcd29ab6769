"""The scores of all teams; each distinct pair of texts is scored once.

Teams copy each other, versions of one system repeat themselves, and many cases have the same short
report. What was scored stays in a folder, so that a stopped run resumes and a new team costs only
what is new in its file.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from histoeval.challenge.folder import Challenge
from histoeval.challenge.standings import MetricUsed
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

PairTexts = tuple[str, str]  # a reference and a candidate

_COLUMNS = Columns(reference="reference", candidates=("candidate",), id="id")


class CaseScore(NamedTuple):
    """The values of one case by metric, and the reasons for missing ones."""

    values: Mapping[str, float]
    reasons: tuple[str, ...] = ()


def score_teams(
    challenge: Challenge,
    teams: Sequence[Team],
    metrics: Sequence[Metric],
    used: Mapping[str, MetricUsed],
    store: Path | None = None,
    *,
    engine: Engine = INLINE,
) -> dict[str, dict[str, CaseScore]]:
    """Score every team by case; with a store, nothing is scored twice."""
    keys = {}
    for id_ in challenge.ids:  # by case, so that a reference is read once for all teams
        for reference in challenge.truth.references[id_]:
            for team in teams:
                if id_ in team.reports:
                    pair = reference, team.reports[id_]
                    keys[pair] = pair_key(*pair)
    rows = {} if store is None else _stored(store, metrics)
    if fresh := {pair: key for pair, key in keys.items() if key not in rows}:
        rows |= _scored(fresh, metrics, store, engine)
    is_mean = challenge.policy.references == "mean"
    scores: dict[str, dict[str, CaseScore]] = {}
    for team in teams:
        scores[team.name] = {}
        for id_, text in team.reports.items():
            of_case = [rows[keys[reference, text]] for reference in challenge.truth.references[id_]]
            scores[team.name][id_] = _combined(of_case, used, is_mean)
    return scores


def pair_key(reference: str, candidate: str) -> str:
    lengths = f"{len(reference)}:".encode()
    return hashlib.sha256(lengths + f"{reference}{candidate}".encode()).hexdigest()[:24]


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
        scored = score_source(
            source, metrics, folder, overwrite=is_outdated, engine=engine, watch=watch
        )
    return {row.id: row for row in scored.rows}


def _is_of(folder: Path, metrics: Sequence[Metric]) -> bool:
    try:
        signatures = read_json(folder / "run.json", folder).get("metrics")
    except (HistoEvalError, OSError):
        return False
    return signatures == {metric.name: str(metric.signature) for metric in metrics}


def _stored(store: Path, metrics: Sequence[Metric]) -> dict[str, ResultRow]:
    """Read scores of earlier runs, also interrupted ones; failures are scored again."""
    stored: dict[str, ResultRow] = {}
    for folder in sorted(store.glob("pairs-*")):
        file = folder / SCORES
        if not _is_of(folder, metrics) or not file.is_file():
            continue
        with file.open("rb") as lines, suppress(ValueError):  # a killed run leaves half a line
            for line in lines:
                row = ResultRow.model_validate_json(line)
                if not row.errors:
                    stored[row.id] = row
    return stored


def _combined(
    rows: Sequence[ResultRow], used: Mapping[str, MetricUsed], is_mean: bool
) -> CaseScore:
    """One value per metric: of the only reference, the best one, or the mean of all."""
    combined = {}
    for name, metric in used.items():
        if values := [row.scores[name].value for row in rows if name in row.scores]:
            best = max if metric.higher_is_better else min
            combined[name] = sum(values) / len(values) if is_mean else best(values)
    reasons = [
        f"{error.metric}: {error.message.removesuffix(READ_AS_IT_IS)}"  # teams choose no metrics
        for row in rows
        for error in row.errors
    ]
    return CaseScore(combined, tuple(dict.fromkeys(reasons)))
