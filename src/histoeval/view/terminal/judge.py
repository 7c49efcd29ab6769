"""Tables on judges: what they said, how steady they are, what they cost, what they are worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import JustifyMethod
from rich.table import Table
from rich.text import Text

from histoeval.judge.check import CriterionVerdict
from histoeval.judge.estimate import RequestEstimate
from histoeval.judge.panel import JudgePanel
from histoeval.judge.scoring import SPREAD
from histoeval.llm.cache import CacheStats
from histoeval.progress import step_progress
from histoeval.run.pipeline import Watch, no_progress

UNKNOWN = "unknown"

TOLD_EVERY = 16
"""A bar that moves with each of so many answers at a time would cost more than they do."""


@contextmanager
def answer_progress(bench: JudgePanel, count: Callable[[], int]) -> Iterator[Watch]:
    """A bar that moves with every answer; what it yields is told of rows that are done.

    Pairs are counted only where somebody watches, since the whole file is read for it.
    """
    if not sys.stderr.isatty():
        yield no_progress
        return
    each = bench.questions_a_pair
    done = 0
    note = ""
    with step_progress("judging", count() * each) as tell:

        def settled() -> None:
            """Count an answer; with many at a time, not every one is worth a word."""
            nonlocal done
            done += 1
            if done % TOLD_EVERY == 0 or bench.concurrency < TOLD_EVERY:
                tell(done, note)

        def watch(rows: int, errors: int, _position: int) -> None:
            """Rows that are written; answers may be ahead of them."""
            nonlocal done, note
            done = max(done, rows * each)  # answers are ahead of the rows
            note = f"{errors:,} rows with errors"
            tell(done, note)

        bench.settled = settled
        yield watch


def criteria_table(summary: Mapping[str, Any], prefix: str) -> Table:
    """The mean of each criterion, and its spread over answers, for each judge and system."""
    columns = ["metric", "system", "criterion", "mean", "spread"]
    table = _table("Mean of each criterion", columns, texts=3)
    for name, metric in summary["metrics"].items():
        for system, totals in metric["systems"].items() if name.startswith(prefix) else ():
            parts = totals["parts"]
            for part in parts:
                if part == SPREAD or part.endswith(f"_{SPREAD}"):
                    continue
                spread = parts.get(f"{part}_{SPREAD}")
                numbers = [_number(parts[part], 2), "" if spread is None else f"{spread:.2f}"]
                table.add_row(Text(name), Text(system), part, *numbers)
    return table


def steadiness_tables(told: Mapping[str, Any]) -> Iterator[Table]:
    """Agreement between repeats, between the two orders, and between judges."""
    for judge, criteria in told.get("repeats", {}).items():
        yield _agreement_table(f"Repeats of {judge}", criteria)
    for judge, criteria in told.get("order", {}).items():
        yield _agreement_table(f"Candidate first, {judge}", criteria, ("mean_shift",))
    if "between_judges" in told:
        yield _agreement_table("Between judges", told["between_judges"])


def _agreement_table(title: str, criteria: Mapping[str, Any], more: Sequence[str] = ()) -> Table:
    figures = ("identical", "mean_spread", *more)
    names = [figure.replace("_", " ") for figure in figures]
    table = _table(title, ["criterion", "alpha (95 %)", *names, "pairs"])
    for name, told in criteria.items():
        numbers = [_number(told[figure], 3) for figure in figures]
        table.add_row(name, _interval(told["alpha"]), *numbers, f"{told['pairs']:,}")
    return table


def usage_table(usage: Mapping[str, Mapping[str, Any]]) -> Table:
    """What a run has cost."""
    columns = ["judge", "requests", "cached", "retries", "tokens in", "tokens out", "s", "cost"]
    table = _table("Cost of this run", columns)
    for judge, used in usage.items():
        counts = ("requests", "cached", "retries", "tokens_in", "tokens_out")
        money = _money(used["cost"], used["currency"])
        numbers = [f"{used[name]:,}" for name in counts]
        table.add_row(Text(judge), *numbers, f"{used['seconds']:.1f}", money)
    return table


def estimate_table(estimates: Sequence[RequestEstimate]) -> Table:
    """What a run would cost."""
    columns = ["judge", "pairs", "questions", "cached", "to ask", "tokens in", "tokens out"]
    table = _table("Estimate; nothing was asked", [*columns, "time", "cost"])
    for each in estimates:
        counts = (each.pairs, each.questions, each.cached, each.requests)
        about = "" if each.measured else "~"
        tokens = [f"{about}{n:,}" for n in (each.tokens_in, each.tokens_out)]
        time = UNKNOWN if each.seconds is None else _duration(each.seconds)
        money = _money(each.cost, each.currency)
        table.add_row(Text(each.judge), *[f"{n:,}" for n in counts], *tokens, time, money)
    return table


def verdict_table(judge: str, verdicts: Sequence[CriterionVerdict]) -> Table:
    """What a judge may be used for."""
    columns = ["criterion", "verdict", "answered", "in order", "in range", "obeyed"]
    table = _table(f"{judge}: what it may be used for", columns, texts=2)
    for each in verdicts:
        shares = [f"{share:.0%}" for share in (each.answered, each.in_order, each.in_range)]
        verdict = Text("may be used", "green") if each.may_be_used else Text("may not", "red")
        table.add_row(each.criterion, verdict, *shares, str(each.obeyed))
    return table


def kept_table(kept: Sequence[CacheStats]) -> Table:
    """What replies are kept."""
    table = _table("Replies kept", ["judge", "prompt", "replies", "tokens in", "tokens out"])
    for each in kept:
        counts = (each.replies, each.tokens_in, each.tokens_out)
        table.add_row(Text(each.judge), each.prompt, *[f"{n:,}" for n in counts])
    return table


def _table(title: str, columns: Sequence[str], texts: int = 1) -> Table:
    """An empty table whose first columns hold texts, and the others numbers."""
    table = Table(title=Text(f"\n{title}"), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for place, column in enumerate(columns):
        justify: JustifyMethod = "left" if place < texts else "right"
        table.add_column(Text(column), justify=justify, overflow="fold")
    return table


def _number(value: float | None, digits: int) -> str:
    return "none" if value is None else f"{value:.{digits}f}"


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
