"""What was read in a file of reports, in numbers."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def extraction_table(summary: dict[str, Any], rows_read: int, seconds: float) -> RenderableType:
    """Rows, entities by type and relations by types; then how fast the new ones were read."""
    table = Table(title=Text(f"{summary['input']['name']}: what was read"), title_justify="left")
    table.add_column("", overflow="fold")
    table.add_column("found", justify="right", overflow="fold")
    counts = {
        "rows": summary["rows"],
        "rows with errors": summary["rows_with_errors"],
        **summary["entities"],
        "all entities": sum(summary["entities"].values()),
        **summary["relations"],
        "all relations": sum(summary["relations"].values()),
    }
    for name, count in counts.items():
        table.add_row(Text(name), f"{count:,}")
    remarks = [*summary["input"]["notes"], _speed(summary["rows"] - rows_read, rows_read, seconds)]
    return Group(table, *[Text(remark) for remark in remarks])


def _speed(before: int, now: int, seconds: float) -> str:
    """How many reports were read in what time, and how many had been read before."""
    there = f"; {before:,} rows were there already" if before else ""
    if not now:
        return f"Nothing was left to read{there}"
    rate = now / max(seconds, 1e-9)
    return f"{now:,} rows in {seconds:.1f} s, {rate:,.1f} reports per second{there}"
