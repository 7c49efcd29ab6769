"""The page of `compare`: the ranking, every two systems, and where they differ most."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from histoeval.run.stored import read_comparison
from histoeval.table import html_table
from histoeval.view.findings import Findings, findings_in
from histoeval.view.html.page import Website, render
from histoeval.view.html.scores.pair import shown_errors
from histoeval.view.terminal.comparison import comparison_tables, remarks
from histoeval.view.terminal.gate import WORST, changes_table, verdict


def comparison_page(folder: Path, site: Website | None = None) -> str:
    """The page of a finished comparison, from the file in its folder."""
    found = read_comparison(folder)
    gate = found.gate
    changes = [] if gate is None else [changes_table(gate)]
    names = [each.system for each in found.contest.systems]
    return render(
        "comparison.html",
        site=site,
        styles=("scores.css",),
        title=f"Systems compared: {', '.join(names)}",
        metric=found.metric,
        signature=found.signature,
        gate=gate,
        verdict="" if gate is None else verdict(gate),
        worst=WORST,
        tables=[
            *map(html_table, [*changes, *comparison_tables(found.metric, found.contest, ())]),
        ],
        apart=[apart_content(pair) for pair in found.apart],
        notes=[
            *dict.fromkeys([*found.notes, *(gate.notes if gate else ())]),
            *remarks(found.contest),
        ],
    )


def apart_content(pair: Mapping[str, Any]) -> dict[str, Any]:
    """One pair on which systems differ, with the errors of each."""
    return {
        "id": pair["id"],
        "gap": pair["gap"],
        "systems": [
            {
                "name": name,
                "value": score["value"],
                "errors": shown_errors(findings_in(score["evidence"]) or Findings()),
            }
            for name, score in pair["systems"].items()
        ],
    }
