"""The page of `extract`: what was found in all reports, and the first of them with marks."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore, read_json
from histoeval.report import Report
from histoeval.table import ResultTable, html_table
from histoeval.view.highlight import html
from histoeval.view.html.page import Website, render
from histoeval.view.terminal.extraction import entity_spans, marked_entity

MAX_ROWS = 200
"""Reports on the page, the first of the input; all are in the file."""


def extraction_page(file: Path, site: Website | None = None) -> str:
    """The page of a finished run, from its file."""
    store = RowStore(file, ReadRow.of_line)
    summary = read_json(store.meta, file)["summary"]
    counts = [("reports", summary["rows"]), ("reports with errors", summary["rows_with_errors"])]
    return render(
        "extraction.html",
        site=site,
        styles=("scores.css",),
        scripts=("marks.js",),
        title=f"Extracted: {summary['input']['name']}",
        tables=[
            _counted("Reports", counts),
            _counted("Entities", summary["entities"].items()),
            _counted("Relations", summary["relations"].items()),
        ],
        reader=summary["reader"],
        rows=summary["rows"],
        file=file.name,
        reports=[_report(row) for row in islice(store, MAX_ROWS)],
    )


def _counted(title: str, counts: Any) -> str:
    return html_table(ResultTable(title, ["", "found"], [(n, f"{c:,}") for n, c in counts]))


def _report(row: ReadRow) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": row.id, "errors": [error.message for error in row.errors]}
    return shown | (
        {"text": None, "relations": []} if row.report is None else report_content(row.report)
    )


def report_content(report: Report) -> dict[str, Any]:
    """A report with its entities marked, and its relations as pairs of them."""
    spans = entity_spans(report)
    return {
        "text": html(report.text, spans),
        "relations": [
            {
                "mark": f"{spans[each.head].mark} {spans[each.tail].mark}",
                "head": marked_entity(report.entities[each.head]),
                "tail": marked_entity(report.entities[each.tail]),
            }
            for each in report.relations
        ],
    }
