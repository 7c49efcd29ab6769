"""The summary of a score run as tables, for outputs without charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from histoeval.table import ResultTable
from histoeval.view.html.scores.columns import SEVERITIES, ScoredPairs
from histoeval.view.html.scores.overview import compared, headlines, overviews
from histoeval.view.terminal.agreement import estimate_text
from histoeval.view.terminal.comparison import comparison_tables


def summary_tables(columns: ScoredPairs, summary: Mapping[str, Any]) -> Iterator[ResultTable]:
    """Errors by severity and kind, means with intervals, and systems compared."""
    found = headlines(columns, summary)
    if found:
        yield ResultTable(
            f"Errors that {columns.judged_by} found, by severity",
            ["system", "reports with a critical error", *SEVERITIES],
            [
                [
                    each.system,
                    f"{each.critical:,} of {each.scored:,}",
                    *[f"{each.severities[name]:,}" for name in SEVERITIES],
                ]
                for each in found
            ],
        )
        kinds = list(dict.fromkeys(kind for each in found for kind in each.kinds))
        yield ResultTable(
            "Errors by kind",
            ["kind", *[each.system for each in found]],
            [
                [kind.replace("_", " "), *[f"{each.kinds.get(kind, 0):,}" for each in found]]
                for kind in kinds
            ],
        )
    yield ResultTable(
        "Means over pairs, with 95 % intervals",
        ["metric", "system", "mean", "scored"],
        [
            [
                metric.name,
                each.system,
                estimate_text(each.mean, 3),
                f"{each.scored:,} of {each.pairs:,}",
            ]
            for metric in overviews(columns, summary)
            for each in metric.systems
        ],
    )
    contest = compared(columns, summary)
    if contest is not None:
        yield from comparison_tables(*contest, ())
