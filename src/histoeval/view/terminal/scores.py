"""Tables that a person reads in a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

SYSTEMS_ABREAST = 3
"""More systems than these do not fit beside each other, and stand below each other."""


def score_table(summary: dict[str, Any]) -> RenderableType:
    """Means of each system by each metric, what they mean, and what has no score."""
    systems = list(
        dict.fromkeys(name for metric in summary["metrics"].values() for name in metric["systems"])
    )
    title = f"{summary['input']['name']}: mean over pairs, higher is better"
    table = Table(title=Text(title), title_justify="left")
    table.add_column("metric", overflow="fold")
    if len(systems) <= SYSTEMS_ABREAST:
        _add_number_columns(table, systems)
        for name, metric in summary["metrics"].items():
            table.add_row(_titled(name, metric), *_numbers(metric, systems))
    else:
        table.add_column("system", overflow="fold")
        _add_number_columns(table, ["mean"])
        for name, metric in summary["metrics"].items():
            for system in systems:
                table.add_row(_titled(name, metric), Text(system), *_numbers(metric, [system]))
    return Group(table, *[Text(line) for line in _remarks(summary)])


def problem_table(summary: dict[str, Any]) -> RenderableType | None:
    """What went wrong, how often, and one example of each."""
    if not summary["errors"]:
        return None
    table = Table(title="Rows with errors", title_justify="left")
    table.add_column("problem")
    table.add_column("rows", justify="right")
    table.add_column("for example")
    for code, problem in summary["errors"].items():
        table.add_row(code, f"{problem['count']:,}", Text(problem["example"]))
    return table


def range_text(low: float, high: float | None) -> str:
    """From what to what a metric runs."""
    bounded = high is not None and math.isfinite(high)
    return f"{low:g} to {high:g}" if bounded else f"{low:g} and up"


def plain_table(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """A table of texts."""
    table = Table()
    for column in columns:
        table.add_column(column)
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    return table


def _add_number_columns(table: Table, headings: Iterable[str]) -> None:
    """Columns that are never cut or folded, since part of a number is another number."""
    for heading in headings:
        table.add_column(Text(heading), justify="right", overflow="fold", min_width=8)
    table.add_column("range", justify="right", no_wrap=True)
    table.add_column("scored", justify="right", no_wrap=True)


def _titled(name: str, metric: dict[str, Any]) -> Text:
    return Text(name if metric["higher_is_better"] else f"{name} (lower is better)")


def _numbers(metric: dict[str, Any], systems: Sequence[str]) -> list[str | Text]:
    """What a row of the table says of these systems."""
    totals = metric["systems"]
    told = [totals[system] for system in systems]
    return [
        *[_best_marked(totals, system, metric["higher_is_better"]) for system in systems],
        range_text(*metric["range"]),
        f"{sum(t['scored'] for t in told):,} of {sum(t['pairs'] for t in told):,}",
    ]


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
