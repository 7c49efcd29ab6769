"""Tables on LLM judges: their scores, consistency, cost, and the verdict of a check."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.text import Text

from histoeval.judges.check import CriterionVerdict
from histoeval.judges.estimate import RequestEstimate
from histoeval.judges.panel import JudgePanel
from histoeval.judges.scoring import SPREAD
from histoeval.judges.stability import short_names
from histoeval.llm.cache import CacheStats
from histoeval.progress import step_progress
from histoeval.run.pipeline import Watch, no_progress
from histoeval.table import FittedTable, ResultTable, number, terminal_table

UNKNOWN = "unknown"
YES, NO = Text("may be used", "green"), Text("may not", "red")

MAX_NAME = 22
"""Characters of the name of a judge in a cell."""

UPDATE_EVERY = 16
"""Answers per update of the bar when many are in flight; more updates would slow them down."""


@contextmanager
def answer_progress(bench: JudgePanel, count: Callable[[], int]) -> Iterator[Watch]:
    """A bar that moves with every answer; yields the callback for rows that are done.

    Pairs are counted only if the bar is shown, since that reads the whole file.
    """
    if not sys.stderr.isatty():
        yield no_progress
        return
    each = bench.questions_a_pair
    done = 0
    note = ""
    with step_progress("judging", count() * each) as on_step:

        def settled() -> None:
            """Count an answer."""
            nonlocal done
            done += 1
            if done % UPDATE_EVERY == 0 or bench.concurrency < UPDATE_EVERY:
                on_step(done, note)

        def watch(rows: int, errors: int, _position: int) -> None:
            """Count rows that are written; answers may be ahead of them."""
            nonlocal done, note
            done = max(done, rows * each)
            note = f"{errors:,} rows with errors"
            on_step(done, note)

        bench.settled = settled
        yield watch


def criteria_table(summary: Mapping[str, Any], prefix: str) -> FittedTable:
    """Criteria by systems: the mean of each, and its spread over answers, for each judge."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for name, metric in summary["metrics"].items():
        if not name.startswith(prefix):
            continue
        judge = "all" if name == prefix else _clipped(name.removeprefix(f"{prefix}@"))
        for system, totals in metric["systems"].items():
            parts = totals["parts"]
            for part in parts:
                if part != SPREAD and not part.endswith(f"_{SPREAD}"):
                    mean = _with_spread(parts[part], parts.get(f"{part}_{SPREAD}"))
                    cells.setdefault((part, judge), {})[system] = mean
    systems = list(dict.fromkeys(system for row in cells.values() for system in row))
    several = len({judge for _, judge in cells}) > 1  # one judge needs no name
    rows = [
        [part, *([judge] if several else []), *(row.get(each, "") for each in systems)]
        for (part, judge), row in cells.items()
    ]
    names = ["criterion", *(["judge"] if several else []), *(each or "mean" for each in systems)]
    return _table(f"Mean of each criterion of {prefix}", names, rows)


def without_difference(summary: Mapping[str, Any], prefix: str) -> str:
    """A warning where all pairs, or all systems, have the same on every criterion."""
    judged = [
        [str(totals["parts"]) for totals in each["systems"].values() if totals["parts"]]
        for name, each in summary["metrics"].items()
        if name.startswith(prefix)
    ]
    told_apart = [parts for parts in judged if len(parts) < 2 or len(set(parts)) > 1]
    if summary.get("judge", {}).get("all_pairs_alike"):
        alike = "All pairs have the same scores"
    elif told_apart or not judged:
        return ""
    else:
        alike = "All systems have the same means"
    return (
        f"{alike} on every criterion: this judge may not tell good reports from bad ones. "
        "`histoeval judge check` tries that."
    )


def steadiness_tables(agreement: Mapping[str, Any]) -> Iterator[FittedTable]:
    """Agreement between repeats, between the two orders, and between judges."""
    for judge, criteria in agreement.get("repeats", {}).items():
        yield _agreement_table(f"Repeats of {judge}", criteria)
    for judge, criteria in agreement.get("order", {}).items():
        yield _agreement_table(f"Candidate first, {judge}", criteria, ("mean_shift",))
    if "between_judges" in agreement:
        yield _agreement_table("Between judges", agreement["between_judges"])


def _agreement_table(
    title: str, criteria: Mapping[str, Any], more: Sequence[str] = ()
) -> FittedTable:
    measures = ("identical", "mean_spread", *more)
    names = ["same", *[measure.removeprefix("mean_") for measure in measures[1:]]]
    rows = [
        (
            name,
            _interval(found["alpha"]),
            *[number(found[measure]) for measure in measures],
            f"{found['pairs']:,}",
        )
        for name, found in criteria.items()
    ]
    return _table(title, ["criterion", "alpha (95 %)", *names, "pairs"], rows)


def usage_table(usage: Mapping[str, Mapping[str, Any]]) -> FittedTable:
    """The cost of a run, a column for each judge."""
    counts = ("requests", "cached", "retries", "tokens_in", "tokens_out")
    columns = [
        [
            *[f"{used[name]:,}" for name in counts],
            f"{used['seconds']:.1f}",
            _money(used["cost"], used["currency"]),
        ]
        for used in usage.values()
    ]
    names = [*[name.replace("_", " ") for name in counts], "seconds", "cost"]
    return _by_judge("Cost of this run", names, list(usage), columns)


def estimate_table(estimates: Sequence[RequestEstimate]) -> FittedTable:
    """The expected cost of a run, a column for each judge."""
    columns = []
    for each in estimates:
        counts = (each.pairs, each.questions, each.cached, each.requests)
        about = "" if each.measured else "~"
        tokens = [f"{about}{n:,}" for n in (each.tokens_in, each.tokens_out)]
        time = UNKNOWN if each.seconds is None else _duration(each.seconds)
        money = _money(each.cost, each.currency)
        columns.append([*[f"{n:,}" for n in counts], *tokens, time, money])
    names = ["pairs", "questions", "cached", "to ask", "tokens in", "tokens out", "time", "cost"]
    judges = [each.judge for each in estimates]
    return _by_judge("Estimate; nothing was asked", names, judges, columns)


def _by_judge(
    title: str, names: Sequence[str], judges: Sequence[str], columns: Sequence[Sequence[str]]
) -> FittedTable:
    """Measures in rows and judges in columns, so that their long names are written once."""
    short = short_names(judges) if len(judges) > 1 else judges
    return _table(title, ["", *short], list(zip(names, *columns, strict=True)))


def _clipped(name: str) -> str:
    return (
        name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2]}…{name[-MAX_NAME // 2 + 1 :]}"
    )


def verdict_table(judge: str, verdicts: Sequence[CriterionVerdict]) -> FittedTable:
    """Which criteria a judge may be used for."""
    table = ResultTable.of(
        f"\n{judge}: what it may be used for",
        verdicts,
        {
            "criterion": lambda each: each.criterion,
            "verdict": lambda each: YES if each.may_be_used else NO,
            "answered": lambda each: f"{each.answered:.0%}",
            "in order": lambda each: f"{each.in_order:.0%}",
            "in range": lambda each: f"{each.in_range:.0%}",
            "obeyed": lambda each: str(each.obeyed),
        },
    )
    return terminal_table(table)


def cache_table(cached: Sequence[CacheStats]) -> FittedTable:
    """The replies in the cache."""
    table = ResultTable.of(
        "\nReplies kept",
        cached,
        {
            "judge": lambda each: each.judge,
            "prompt": lambda each: each.prompt.rpartition("-")[0] or each.prompt,
            "replies": lambda each: f"{each.replies:,}",
            "tokens in": lambda each: f"{each.tokens_in:,}",
            "tokens out": lambda each: f"{each.tokens_out:,}",
        },
    )
    return terminal_table(table)


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> FittedTable:
    return terminal_table(ResultTable(f"\n{title}", columns, rows))


def _with_spread(mean: float, spread: float | None) -> str:
    return number(mean, 2) if spread is None else f"{number(mean, 2)} (spread {spread:.2f})"


def _interval(alpha: Mapping[str, Any]) -> str:
    if alpha["value"] is None:
        return str(alpha["reason"])
    if alpha["low"] is None:
        return f"{alpha['value']:.3f}"
    return f"{alpha['value']:.3f} ({alpha['low']:.3f} to {alpha['high']:.3f})"


def _money(cost: float | None, currency: str) -> str:
    return UNKNOWN if cost is None else f"{cost:.4f} {currency}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
