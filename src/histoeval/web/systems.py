"""Systems side by side: compared where somebody chose runs, and ranked over all runs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.agreement.systems import contest
from histoeval.errors import HistoEvalError
from histoeval.io.results import ScoredMetric, read_rows
from histoeval.run.compare.compare import compare as compare_runs
from histoeval.run.compare.gate import USUAL_METRIC
from histoeval.run.compare.systems import without_versions
from histoeval.run.history import SCORED, StoredRun
from histoeval.statistics.resampling import Estimate
from histoeval.table import html_table, number
from histoeval.view.html.challenge import Scale
from histoeval.view.html.run_pages import apart_content
from histoeval.view.terminal.agreement import interval, p_text
from histoeval.view.terminal.comparison import MAX_ERRORS, comparison_tables, remarks
from histoeval.view.terminal.runs import time_text
from histoeval.web.pages import page, without_paths
from histoeval.web.run_index import RunIndex

MOST_RUNS = 8
MOST_DIFFERENT = 12  # pairs that are shown of those on which systems differ most
MOST_RANKED = 16  # systems that are ranked together; of more, those of the newest runs


def routes(run_index: RunIndex) -> list[BaseRoute]:
    def compared(request: Request) -> Response:
        chosen = [run_index.run(id_, *SCORED) for id_ in request.query_params.getlist("run")]
        if len(chosen) > MOST_RUNS:
            raise HTTPException(400, f"Choose {MOST_RUNS} runs at most.")
        every, problems = run_index.scored_runs()
        runs = _comparable(every, run_index)
        scored = [
            run_index.scores(run) for run in [run for run in chosen if run in runs] or runs[:1]
        ]
        metrics = [name for name in (scored or [{}])[0] if all(name in run for run in scored)]
        metric = request.query_params.get("metric") or _usual(metrics)
        context: dict[str, Any] = {"comparison": None, "problem": ""}
        if "metric" in request.query_params and not chosen:
            context["problem"] = "Tick a run of two systems or more, or two runs."
        elif len(chosen) == 1 and chosen[0] in every and len(_systems(chosen[0], run_index)) < 2:
            context["problem"] = f"{chosen[0].name} has one system: tick another run beside it."
        elif chosen:
            try:
                comparison = run_index.results.once(
                    ("compare", metric, *(run.stamp for run in chosen)),
                    lambda: compare_runs(
                        [run.place for run in chosen],
                        metric=metric,
                        missing="skip",
                        most_different=MOST_DIFFERENT,
                    ),
                )
                ranking = next(comparison_tables(metric, comparison.contest, ()))
                addresses = _addresses(chosen, run_index)
                context |= {
                    "comparison": comparison,
                    "caption": ranking.title,
                    "ranking": html_table(ranking._replace(title="")),
                    "remarks": remarks(comparison.contest),
                    "apart": [apart_content(pair, addresses) for pair in comparison.apart],
                }
            except HistoEvalError as error:
                context["problem"] = without_paths(str(error), run_index.folder)
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
            most=MAX_ERRORS,
            interval=interval,
            p_text=p_text,
            number=number,
            **context,
        )

    def ranked(request: Request) -> Response:
        runs, problems = run_index.scored_runs()
        metrics = list(dict.fromkeys(name for run in runs for name in run_index.scores(run)))
        metric = request.query_params.get("metric", _usual(metrics))
        return page(
            request,
            "serve/leaderboard.html",
            title="Leaderboard",
            metrics=metrics,
            metric=metric,
            problems=problems,
            boards=_boards(runs, metric, run_index),
        )

    return [Route("/compare", compared), Route("/leaderboard", ranked)]


def _usual(metrics: Sequence[str]) -> str:
    return USUAL_METRIC if USUAL_METRIC in metrics or not metrics else metrics[0]


# --- comparison ----------------------------------------------------------------------------------


def _comparable(every: Sequence[StoredRun], run_index: RunIndex) -> list[StoredRun]:
    own = {
        run: {
            (name, id_)
            for name, scored in run_index.scores(run).items()
            for id_, _ in scored.values
        }
        for run in every
    }
    count = Counter(pair for pairs in own.values() for pair in pairs)
    return [
        run
        for run in every
        if len(_systems(run, run_index)) > 1 or any(count[pair] > 1 for pair in own[run])
    ]


def _systems(run: StoredRun, run_index: RunIndex) -> set[str]:
    return {system for scored in run_index.scores(run).values() for _, system in scored.values}


def _addresses(runs: Sequence[StoredRun], run_index: RunIndex) -> dict[tuple[str, str], str]:
    """Return the address of each pair of each system, by the names of systems in a comparison."""

    def places(run: StoredRun) -> dict[tuple[str, str], int]:
        rows = enumerate(read_rows(run.place), start=1)
        return {(row.system or "", row.id): position for position, row in rows}

    addresses = {}
    for run in runs:
        rows = run_index.results.once(("places", run.stamp), partial(places, run))
        for (system, id_), position in rows.items():
            for name in (system or run.place.name, f"{run.place.name}:{system}"):
                addresses[name, id_] = f"/runs/{run.id}/#pair-{position}"
    return addresses


# --- leaderboard ---------------------------------------------------------------------------------


class Contender(NamedTuple):
    run: StoredRun
    system: str

    @property
    def key(self) -> str:
        return f"{self.run.id}\n{self.system}"


def _boards(runs: Sequence[StoredRun], metric: str, run_index: RunIndex) -> list[dict[str, Any]]:
    """Return a board for each set of pairs and signature of the metric, the largest first."""
    groups: dict[Any, dict[StoredRun, ScoredMetric]] = {}
    for run in runs:
        if (scored := run_index.scores(run).get(metric)) is not None and scored.values:
            ids = frozenset(id_ for id_, _ in scored.values)
            groups.setdefault((ids, without_versions(scored.signature)), {})[run] = scored
    boards = [
        run_index.results.once(
            ("board", metric, *(run.stamp for run in group)), partial(_board, group)
        )
        for group in groups.values()
    ]
    return sorted(boards, key=lambda board: -len(board["standings"]))


def _board(scored: Mapping[StoredRun, ScoredMetric]) -> dict[str, Any]:
    """Rank the systems of runs, the newest run first, on the pairs that all of them have."""
    every = [
        Contender(run, system)
        for run, metric in scored.items()
        for system in dict.fromkeys(system for _, system in metric.values)
    ]
    taken = {contender.key: contender for contender in every[:MOST_RANKED]}
    ids = sorted(
        set.intersection(
            *(
                {id_ for id_, system in scored[contender.run].values if system == contender.system}
                for contender in taken.values()
            )
        )
    )
    sign = 1.0 if next(iter(scored.values())).higher_is_better else -1.0
    columns = {
        key: sign * np.array([scored[contender.run].values[id_, contender.system] for id_ in ids])
        for key, contender in taken.items()
    }
    ranked: list[tuple[Contender, int, Estimate]] = []
    history: dict[str, Any] = {}
    if len(taken) > 1 and ids:
        result = contest(columns, ids)
        for ranked_system in result.systems:  # with means in the direction of the metric
            ends = [
                sign * end
                for end in (ranked_system.mean.low, ranked_system.mean.high)
                if end is not None
            ]
            low, high = min(ends, default=None), max(ends, default=None)
            mean = Estimate(value=sign * float(ranked_system.mean.value or 0.0), low=low, high=high)
            ranked.append((taken[ranked_system.system], ranked_system.rank, mean))
        p_of = {frozenset({duel.one, duel.other}): duel.p for duel in result.duels}
        history = _history({contender: mean.value for contender, _, mean in ranked}, p_of)
    elif ids:
        ((key, alone),) = taken.items()
        ranked = [(alone, 1, Estimate(value=sign * float(columns[key].mean())))]
    scale = Scale([mean for _, _, mean in ranked])
    newest = {contender.system: contender for contender in reversed(taken.values())}
    return {
        "pairs": len(ids),
        "left_out": len(every) - len(taken),
        "axis": scale,
        "standings": [
            {
                "contender": contender,
                "rank": rank,
                "is_newest": newest[contender.system] == contender,
                "estimate": mean,
            }
            for contender, rank, mean in ranked
        ],
        "history": history,
        "time_text": time_text,
    }


def _history(
    means: Mapping[Contender, Any], p_of: Mapping[frozenset[str], float | None]
) -> dict[str, list[dict[str, Any]]]:
    """Return the history of systems with several runs, each from its first run to its last."""
    history: dict[str, list[dict[str, Any]]] = {}
    for now in sorted(means, key=lambda contender: contender.run.changed):
        steps = history.setdefault(now.system, [])
        change: dict[str, Any] = {"difference": None, "p": ""}
        if steps:
            before: Contender = steps[-1]["contender"]
            p = p_of[frozenset({now.key, before.key})]
            gap = means[now] - means[before]
            change = {"difference": gap, "p": "" if p is None else p_text(p)}
        steps.append({"contender": now, "mean": means[now], **change})
    return {system: steps for system, steps in history.items() if len(steps) > 1}
