"""Tables that a person reads in a terminal."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def score_table(summary: dict[str, Any]) -> RenderableType:
    """Means of each system by each metric, what they mean, and what has no score."""
    systems = list(
        dict.fromkeys(name for metric in summary["metrics"].values() for name in metric["systems"])
    )
    title = f"{summary['input']['name']}: mean over pairs, higher is better"
    table = Table(title=title, title_justify="left")
    table.add_column("metric", overflow="fold")
    for system in systems:
        table.add_column(Text(system), justify="right", overflow="fold")
    table.add_column("range", justify="right", no_wrap=True)
    table.add_column("scored", justify="right")
    for name, metric in summary["metrics"].items():
        totals = metric["systems"]
        direction = "" if metric["higher_is_better"] else " (lower is better)"
        table.add_row(
            Text(name + direction),
            *[_best_marked(totals, system, metric["higher_is_better"]) for system in systems],
            "{:g} to {:g}".format(*metric["range"]),
            f"{sum(t['scored'] for t in totals.values()):,} of "
            f"{sum(t['pairs'] for t in totals.values()):,}",
        )
    return Group(table, *[Text(line) for line in _remarks(summary)])


def problem_table(summary: dict[str, Any]) -> RenderableType | None:
    """What went wrong, how often, and one example of each."""
    if not summary["errors"]:
        return None
    table = Table(title="Rows without a score", title_justify="left")
    table.add_column("problem")
    table.add_column("rows", justify="right")
    table.add_column("for example")
    for code, problem in summary["errors"].items():
        table.add_row(code, f"{problem['count']:,}", Text(problem["example"]))
    return table


def plain_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """A table of texts."""
    table = Table()
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    return table


def _best_marked(totals: dict[str, Any], system: str, higher_is_better: bool) -> Text:
    mean = totals.get(system, {}).get("mean")
    if mean is None:
        return Text("none", style="red")
    means = [t["mean"] for t in totals.values() if t["mean"] is not None]
    best = max(means) if higher_is_better else min(means)
    digits = 2 if abs(best) >= 10 else 4
    return Text(f"{mean:.{digits}f}", style="bold" if mean == best and len(means) > 1 else "")


def _remarks(summary: dict[str, Any]) -> list[str]:
    remarks = [*summary["input"]["notes"]]
    remarks += [f"{name} {reason}" for name, reason in summary["unavailable"].items()]
    if summary["rows_with_errors"]:
        remarks.append(
            f"{summary['rows_with_errors']:,} of {summary['rows']:,} rows have an error; "
            "their missing scores are left out of the means, not counted as 0."
        )
    return remarks
