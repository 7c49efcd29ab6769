"""The pages of `extract`, `compare` and `experiment`, from the files of a finished run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

from histoeval.errors import InputError
from histoeval.io.finished_run import experiments_in
from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore, read_json
from histoeval.report import Report
from histoeval.run.stored import read_comparison
from histoeval.table import ResultTable, html_table, tables_in_markdown
from histoeval.view.findings import Findings, findings_in
from histoeval.view.highlight import html
from histoeval.view.html.page import Website, render
from histoeval.view.terminal import comparison as terminal
from histoeval.view.terminal.extraction import entity_spans, marked_entity

MAX_ROWS = 200  # reports on the page, the first of the input; all are in the file


def extraction_page(file: Path, site: Website | None = None) -> str:
    store = RowStore(file, ReadRow.of_line)
    summary = read_json(store.meta, file)["summary"]
    counts = {"reports": summary["rows"], "reports with errors": summary["rows_with_errors"]}
    tables = {"Reports": counts, "Entities": summary["entities"], "Relations": summary["relations"]}
    return render(
        "extraction.html",
        site=site,
        styles=("scores.css",),
        scripts=("marks.js",),
        title=f"Extracted: {summary['input']['name']}",
        tables=[
            html_table(ResultTable(title, ["", "found"], [(n, f"{c:,}") for n, c in each.items()]))
            for title, each in tables.items()
        ],
        reader=summary["reader"],
        rows=summary["rows"],
        file=file.name,
        reports=[
            {"row": row, "report": None if row.report is None else report_content(row.report)}
            for row in islice(store, MAX_ROWS)
        ],
    )


def report_content(report: Report) -> dict[str, Any]:
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


def comparison_page(folder: Path, site: Website | None = None) -> str:
    comparison = read_comparison(folder)
    gate = comparison.gate
    changes = [] if gate is None else [terminal.changes_table(gate)]
    names = [each.system for each in comparison.contest.systems]
    return render(
        "comparison.html",
        site=site,
        styles=("scores.css",),
        title=f"Systems compared: {', '.join(names)}",
        metric=comparison.metric,
        signature=comparison.signature,
        gate=gate,
        verdict="" if gate is None else terminal.verdict(gate),
        worst=terminal.WORST,
        tables=map(
            html_table,
            [*changes, *terminal.comparison_tables(comparison.metric, comparison.contest, ())],
        ),
        apart=[apart_content(pair) for pair in comparison.apart],
        notes=[
            *dict.fromkeys([*comparison.notes, *(gate.notes if gate else ())]),
            *terminal.remarks(comparison.contest),
        ],
    )


def apart_content(
    pair: Mapping[str, Any], addresses: Mapping[tuple[str, str], str] = MappingProxyType({})
) -> dict[str, Any]:
    return {
        "id": pair["id"],
        "gap": pair["gap"],
        "systems": [
            {
                "name": name,
                "value": score["value"],
                "errors": (findings_in(score["evidence"]) or Findings()).errors,
                "has_evidence": bool(score["evidence"]),
                "found": terminal.evidence_text(score["evidence"]),
                "address": addresses.get((name, pair["id"])),
            }
            for name, score in pair["systems"].items()
        ],
    }


def experiment_tables_page(folder: Path, site: Website | None = None) -> str:
    blocks = []
    for name in experiments_in(folder):
        file = folder / f"{name}.md"
        try:
            text = file.read_text("utf-8")
        except OSError as error:
            raise InputError(f"{file} cannot be read: {error.strerror}") from error
        notes = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
        blocks.append({"tables": [*map(html_table, tables_in_markdown(text))], "notes": notes})
    return render(
        "experiment_tables.html",
        site=site,
        title=f"Experiments: {folder.resolve().name}",
        blocks=blocks,
        figures=[
            (svg.stem, f"data:image/svg+xml;base64,{b64encode(svg.read_bytes()).decode('ascii')}")
            for svg in sorted(folder.glob("*.svg"))
        ],
    )
