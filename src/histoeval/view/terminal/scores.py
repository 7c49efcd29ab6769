"""Tables on scores: the means of systems by each metric, and rows with errors."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.table import ResultTable, terminal_table

MAX_SYSTEM_COLUMNS = 3
"""More systems do not fit side by side and get rows of their own."""


def score_table(summary: dict[str, Any]) -> RenderableType:
    """Means of each system by each metric, and remarks on missing scores."""
    metrics = summary["metrics"]
    systems = list(dict.fromkeys(name for each in metrics.values() for name in each["systems"]))
    columns = ["metric", *systems, "range", "scored"]
    rows = [[_titled(name, each), *_numbers(each, systems)] for name, each in metrics.items()]
    if len(systems) > MAX_SYSTEM_COLUMNS:
        columns = ["metric", "system", "mean", "range", "scored"]
        rows = [
            [_titled(name, each), system, *_numbers(each, [system])]
            for name, each in metrics.items()
            for system in systems
        ]
    title = f"{summary['input']['name']}: mean over pairs, higher is better"
    table = terminal_table(ResultTable(title, columns, rows))
    return Group(table, *[Text(line) for line in _remarks(summary)])


def problem_table(summary: dict[str, Any]) -> RenderableType | None:
    """The errors of rows: their number and an example of each."""
    if not summary["errors"]:
        return None
    rows = [
        (code, f"{problem['count']:,}", problem["example"])
        for code, problem in summary["errors"].items()
    ]
    return terminal_table(ResultTable("Rows with errors", ["problem", "rows", "for example"], rows))


def range_text(low: float, high: float | None) -> str:
    """The range of a metric."""
    bounded = high is not None and math.isfinite(high)
    return f"{low:g} to {high:g}" if bounded else f"{low:g} and up"


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> RenderableType:
    """A table of texts without a title."""
    return terminal_table(ResultTable("", columns, [*rows]))


def _titled(name: str, metric: dict[str, Any]) -> str:
    return name if metric["higher_is_better"] else f"{name} (lower is better)"


def _numbers(metric: dict[str, Any], systems: Sequence[str]) -> list[str | Text]:
    """The means of these systems, the range, and the number of scored pairs."""
    totals = metric["systems"]
    shown = [totals[system] for system in systems]
    return [
        *[_best_marked(totals, system, metric["higher_is_better"]) for system in systems],
        range_text(*metric["range"]),
        f"{sum(t['scored'] for t in shown):,} of {sum(t['pairs'] for t in shown):,}",
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
            "missing scores are excluded from the means, not counted as 0."
        )
    return remarks
