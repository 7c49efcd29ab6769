"""All systems of all runs, ranked where they were scored on the same pairs, and their history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from histoeval.agreement.systems import Contest, contest
from histoeval.io.results import ScoredMetric
from histoeval.run.compare.signatures import without_versions
from histoeval.run.compare.trial import USUAL_METRIC
from histoeval.run.history.shelf import StoredRun
from histoeval.statistics.resampling import Estimate
from histoeval.view.html.challenge import Scale
from histoeval.view.terminal.agreement import p_text
from histoeval.view.terminal.runs import time_text
from histoeval.web.kept import Kept
from histoeval.web.pages import page
from histoeval.web.shelf import Shelf

MOST = 16
"""Systems that are ranked together; of more, those of the newest runs."""


class Contender(NamedTuple):
    """A system of a run."""

    run: StoredRun
    system: str

    @property
    def key(self) -> str:
        """What tells it from all others in a contest."""
        return f"{self.run.id}\n{self.system}"


class BoardLine(NamedTuple):
    """A line of a board: who, its rank, and its mean with an interval."""

    contender: Contender
    rank: int
    mean: float
    low: float | None = None
    high: float | None = None
    is_newest: bool = True


class BoardStep(NamedTuple):
    """The mean of a system in one run, and how it differs from the run before."""

    run: StoredRun
    mean: float
    difference: float | None = None
    p: float | None = None


class Board(NamedTuple):
    """Systems that were scored by one metric on the same pairs, the best first."""

    pairs: int
    standings: tuple[BoardLine, ...]
    history: dict[str, tuple[BoardStep, ...]]
    left_out: int


def routes(shelf: Shelf, kept: Kept) -> list[BaseRoute]:
    """The leaderboard of a metric."""

    def shown(request: Request) -> Response:
        runs, problems = kept.readable(shelf)
        metrics = list(dict.fromkeys(name for run in runs for name in kept.scores(run)))
        usual = USUAL_METRIC if USUAL_METRIC in metrics else (metrics or [""])[0]
        metric = request.query_params.get("metric", usual)
        return page(
            request,
            "serve/leaderboard.html",
            title="Leaderboard",
            metrics=metrics,
            metric=metric,
            problems=problems,
            boards=[_shown(board) for board in boards(runs, metric, kept)],
        )

    return [Route("/leaderboard", shown)]


def boards(runs: Sequence[StoredRun], metric: str, kept: Kept) -> list[Board]:
    """A board for each set of pairs and manner of scoring, the largest first."""
    groups: dict[Any, list[StoredRun]] = {}
    for run in runs:
        if (scored := kept.scores(run).get(metric)) is not None and scored.values:
            ids = frozenset(id_ for id_, _ in scored.values)
            groups.setdefault((ids, without_versions(scored.signature)), []).append(run)
    made = [
        kept.once(("board", metric, *(run.stamp for run in group)), _maker(group, metric, kept))
        for group in groups.values()
    ]
    return sorted(made, key=lambda board: -len(board.standings))


def _maker(group: list[StoredRun], metric: str, kept: Kept) -> Any:
    return lambda: make_board({run: kept.scores(run)[metric] for run in group})


def make_board(scored: dict[StoredRun, ScoredMetric]) -> Board:
    """Rank the systems of runs, the newest run first, on the pairs that all of them have."""
    every = [
        Contender(run, system)
        for run, found in scored.items()
        for system in dict.fromkeys(system for _, system in found.values)
    ]
    taken = every[:MOST]
    ids = sorted(set.intersection(*(_ids(scored[each.run], each.system) for each in taken)))
    sign = 1.0 if next(iter(scored.values())).higher_is_better else -1.0
    columns = {
        each.key: sign * np.array([scored[each.run].values[id_, each.system] for id_ in ids])
        for each in taken
    }
    if len(taken) < 2 or not ids:
        alone = [
            BoardLine(each, 1, sign * float(columns[each.key].mean())) for each in taken if ids
        ]
        return Board(len(ids), tuple(alone), {}, len(every) - len(taken))
    found = contest(columns, ids)
    return Board(
        len(ids),
        tuple(_standings(taken, found, sign)),
        _history(taken, found, sign),
        len(every) - len(taken),
    )


def _ids(scored: ScoredMetric, system: str) -> set[str]:
    return {id_ for id_, name in scored.values if name == system}


def _standings(taken: Sequence[Contender], found: Contest, sign: float) -> Iterator[BoardLine]:
    by_key = {each.key: each for each in taken}
    newest = {each.system: each.key for each in reversed(taken)}
    for each in found.systems:
        who = by_key[each.system]
        bounds = [sign * bound for bound in (each.mean.low, each.mean.high) if bound is not None]
        yield BoardLine(
            who,
            each.rank,
            sign * float(each.mean.value or 0.0),
            min(bounds, default=None),
            max(bounds, default=None),
            newest[who.system] == who.key,
        )


def _history(
    taken: Sequence[Contender], found: Contest, sign: float
) -> dict[str, tuple[BoardStep, ...]]:
    """The systems that several runs have, each from its first run to its last."""
    means = {each.system: sign * float(each.mean.value or 0.0) for each in found.systems}
    p_of = {frozenset({duel.one, duel.other}): duel.p for duel in found.duels}
    history = {}
    for system in dict.fromkeys(each.system for each in taken):
        own = sorted((each for each in taken if each.system == system), key=_when)
        changes = [BoardStep(own[0].run, means[own[0].key])]
        for before, now in pairwise(own):
            gap = means[now.key] - means[before.key]
            p = p_of[frozenset({now.key, before.key})]
            changes.append(BoardStep(now.run, means[now.key], gap, p))
        if len(changes) > 1:
            history[system] = tuple(changes)
    return history


def _when(contender: Contender) -> float:
    return contender.run.changed


def _shown(board: Board) -> dict[str, Any]:
    """What the template shows of a board."""
    means = [Estimate(value=each.mean, low=each.low, high=each.high) for each in board.standings]
    scale = Scale(means)
    return {
        "pairs": board.pairs,
        "left_out": board.left_out,
        "axis": scale,
        "standings": [
            {
                **each._asdict(),
                "changed": time_text(each.contender.run.changed),
                "estimate": mean,
                "bar": scale.bar(mean),
            }
            for each, mean in zip(board.standings, means, strict=True)
        ],
        "history": {
            system: [
                {**each._asdict(), "changed": time_text(each.run.changed), "p": _p(each.p)}
                for each in changes
            ]
            for system, changes in board.history.items()
        },
    }


def _p(value: float | None) -> str:
    return "" if value is None else p_text(value)
