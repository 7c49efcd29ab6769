"""Systems side by side: of one run, or of several that were scored on the same pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.agreement.systems import Duel
from histoeval.errors import HistoEvalError
from histoeval.io.results import read_rows
from histoeval.run.compare.compare import Comparison
from histoeval.run.compare.compare import compare as compare_runs
from histoeval.run.compare.trial import USUAL_METRIC
from histoeval.run.history.about import SCORED
from histoeval.run.history.shelf import StoredRun
from histoeval.table import html_table, number
from histoeval.view.findings import Findings, findings_in
from histoeval.view.html.scores.pair import shown_errors
from histoeval.view.terminal.agreement import interval, p_text
from histoeval.view.terminal.comparison import MAX_ERRORS, comparison_tables, evidence_text, remarks
from histoeval.web.kept import Kept
from histoeval.web.pages import page, without_paths
from histoeval.web.shelf import Shelf

MOST_RUNS = 8
MOST_DIFFERENT = 12
"""Pairs that are shown of those on which systems differ most."""


def routes(shelf: Shelf, kept: Kept) -> list[BaseRoute]:
    """Choose runs and a metric, and see the systems compared."""

    def shown(request: Request) -> Response:
        chosen = [shelf.run(id_, *SCORED) for id_ in request.query_params.getlist("run")]
        if len(chosen) > MOST_RUNS:
            raise HTTPException(400, f"Choose {MOST_RUNS} runs at most.")
        every, problems = kept.readable(shelf)
        runs = _comparable(every, kept)
        metrics = shared_metrics([run for run in chosen if run in runs] or runs[:1], kept)
        metric = request.query_params.get("metric") or _usual(metrics)
        context: dict[str, Any] = {"comparison": None, "problem": ""}
        if "metric" in request.query_params and not chosen:
            context["problem"] = "Tick a run of two systems or more, or two runs."
        elif len(chosen) == 1 and chosen[0] in every and len(_systems(chosen[0], kept)) < 2:
            context["problem"] = f"{chosen[0].name} has one system: tick another run beside it."
        elif chosen:
            try:
                found = _compared(chosen, metric, kept)
                context["comparison"] = _shown(found, _addresses(chosen, kept))
            except HistoEvalError as error:
                context["problem"] = without_paths(str(error), shelf.folder)
        return page(
            request,
            "serve/compare.html",
            title="Compare systems",
            runs=runs,
            alone=[run.name for run in every if run not in runs],
            problems=problems,
            chosen=[run.id for run in chosen],
            metrics=metrics,
            metric=metric,
            **context,
        )

    return [Route("/compare", shown)]


def _comparable(every: Sequence[StoredRun], kept: Kept) -> list[StoredRun]:
    """The runs of two systems, or with pairs and a metric in common with another run."""
    own = {
        run: {(name, id_) for name, each in kept.scores(run).items() for id_, _ in each.values}
        for run in every
    }
    count = Counter(pair for pairs in own.values() for pair in pairs)
    return [
        run
        for run in every
        if len(_systems(run, kept)) > 1 or any(count[pair] > 1 for pair in own[run])
    ]


def _systems(run: StoredRun, kept: Kept) -> set[str]:
    return {system for each in kept.scores(run).values() for _, system in each.values}


def shared_metrics(runs: Sequence[StoredRun], kept: Kept) -> list[str]:
    """The metrics that all these runs have, in the order of the first."""
    each = [kept.scores(run) for run in runs]
    return [name for name in each[0] if all(name in other for other in each)] if each else []


def _usual(metrics: Sequence[str]) -> str:
    return USUAL_METRIC if USUAL_METRIC in metrics or not metrics else metrics[0]


def _compared(runs: Sequence[StoredRun], metric: str, kept: Kept) -> Comparison:
    key = ("compare", metric, *(run.stamp for run in runs))
    folders = [run.place for run in runs]
    return kept.once(
        key,
        lambda: compare_runs(folders, metric=metric, missing="skip", most_different=MOST_DIFFERENT),
    )


def _addresses(runs: Sequence[StoredRun], kept: Kept) -> dict[tuple[str, str], str]:
    """Where each pair of each system is shown, by the names that systems have in a comparison."""
    found = {}
    for run in runs:
        places = kept.once(("places", run.stamp), partial(_places, run))
        for (system, id_), place in places.items():
            for name in (system or run.place.name, f"{run.place.name}:{system}"):
                found[name, id_] = f"/runs/{run.id}/#pair-{place}"
    return found


def _places(run: StoredRun) -> dict[tuple[str, str], int]:
    rows = enumerate(read_rows(run.place), start=1)
    return {(row.system or "", row.id): place for place, row in rows}


def _shown(found: Comparison, addresses: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """What the template shows of a comparison."""
    ranking = next(comparison_tables(found.metric, found.contest, ()))
    return {
        "notes": found.notes,
        "title": ranking.title,
        "ranking": html_table(ranking._replace(title="")),
        "duels": [_duel(duel) for duel in found.contest.duels],
        "remarks": remarks(found.contest),
        "signature": found.signature,
        "most": MAX_ERRORS,
        "has_findings": any(
            score["evidence"] for pair in found.apart for score in pair["systems"].values()
        ),
        "apart": [
            {
                "id": pair["id"],
                "gap": pair["gap"],
                "systems": [
                    (
                        name,
                        score["value"],
                        shown_errors(findings_in(score["evidence"]) or Findings()),
                        evidence_text(score["evidence"]),
                        addresses.get((name, pair["id"])),
                    )
                    for name, score in pair["systems"].items()
                ],
            }
            for pair in found.apart
        ],
    }


def _duel(duel: Duel) -> dict[str, Any]:
    total = max(1, duel.wins + duel.ties + duel.losses)
    return {
        **duel.model_dump(include={"one", "other", "wins", "ties", "losses"}),
        "shares": [100 * each / total for each in (duel.wins, duel.ties, duel.losses)],
        "difference": interval(duel.difference),
        "p": p_text(duel.p),
        "holm": p_text(duel.holm),
        "effect": number(duel.effect, 2),
    }
