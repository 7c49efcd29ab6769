"""Tables on judges: what they said, how steady they are, what they cost, what they are worth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from histoeval.judge.cache import Kept
from histoeval.judge.check import Verdict
from histoeval.judge.estimate import Estimate

UNKNOWN = "unknown"


def criteria_table(summary: Mapping[str, Any], prefix: str) -> Table:
    """The mean of each criterion, for each judge and system, and how many pairs it is of."""
    metrics = {n: m for n, m in summary["metrics"].items() if n.startswith(prefix)}
    systems = [totals for metric in metrics.values() for totals in metric["systems"].values()]
    names = dict.fromkeys(part for totals in systems for part in totals["parts"])
    table = _table("Mean of each criterion", ["judge", "system", *names, "scored"])
    for name, metric in metrics.items():
        for system, totals in metric["systems"].items():
            means = [_number(totals["parts"].get(part), 2) for part in names]
            scored = f"{totals['scored']:,} of {totals['pairs']:,}"
            table.add_row(Text(name), Text(system), *means, scored)
    return table


def steadiness_tables(told: Mapping[str, Any]) -> Iterator[Table]:
    """Agreement between repeats, between the two orders, and between judges."""
    groups = [
        *[(f"Repeats of {judge}", each) for judge, each in told.get("repeats", {}).items()],
        *[(f"Candidate first, {judge}", each) for judge, each in told.get("order", {}).items()],
        *([("Between judges", told["between_judges"])] if "between_judges" in told else []),
    ]
    for title, criteria in groups:
        columns = ["criterion", "alpha (95 %)", "mean spread", "identical", "mean shift", "pairs"]
        table = _table(title, columns)
        for name, figures in criteria.items():
            table.add_row(
                name,
                _interval(figures["alpha"]),
                _number(figures["mean_spread"], 3),
                _number(figures["identical"], 3),
                _number(figures.get("mean_shift"), 3),
                f"{figures['pairs']:,}",
            )
        yield table


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


def estimate_table(estimates: Sequence[Estimate]) -> Table:
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


def verdict_table(judge: str, verdicts: Sequence[Verdict]) -> Table:
    """What a judge may be used for."""
    columns = ["criterion", "answered", "in order", "in range", "obeyed", "verdict"]
    table = _table(f"{judge}: what it may be used for", columns)
    for each in verdicts:
        shares = [f"{share:.0%}" for share in (each.answered, each.in_order, each.in_range)]
        verdict = Text("may be used", "green") if each.may_be_used else Text(each.why_not, "red")
        table.add_row(each.criterion, *shares, str(each.obeyed), verdict)
    return table


def kept_table(kept: Sequence[Kept]) -> Table:
    """What replies are kept."""
    table = _table("Replies kept", ["judge", "prompt", "replies", "tokens in", "tokens out"])
    for each in kept:
        counts = (each.replies, each.tokens_in, each.tokens_out)
        table.add_row(Text(each.judge), each.prompt, *[f"{n:,}" for n in counts])
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if place else "left", overflow="fold")
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
