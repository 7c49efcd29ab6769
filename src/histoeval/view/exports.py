"""A finished run as a table for other programs: CSV, Excel, Markdown or JSON.

No cell becomes a formula, whatever a report or a name begins with: in CSV an apostrophe goes
before = + - @, in Excel every text is a cell of text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from histoeval.io.finished_run import FinishedRun, experiments_in
from histoeval.io.results import ReadRow, ResultFolder
from histoeval.io.row_files import row_lines
from histoeval.io.store import RowStore, read_json
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_text, write_whole, writing_to
from histoeval.run.results import Scores, Verdicts
from histoeval.run.stored import read_agreement, read_comparison
from histoeval.run.trust.rows import TrustFolder
from histoeval.table import ResultTable, markdown, markdown_text, tables_in_markdown
from histoeval.version import __version__
from histoeval.view.html import scores as score_page
from histoeval.view.terminal.agreement import agreement_tables, interval
from histoeval.view.terminal.comparison import comparison_tables
from histoeval.view.terminal.trust import trust_tables

if TYPE_CHECKING:
    from histoeval.view.figures.canvas import Canvas

MAX_CELL = 32_767  # characters that a cell of Excel can hold
Record = Mapping[str, Any]


class RunTables(NamedTuple):
    """A run as tables: those of the summary, and records by the name of their sheet."""

    title: str
    summary: Iterable[ResultTable]
    sheets: Mapping[str, Iterable[Record]]  # the first is what CSV holds
    about: Mapping[str, Any]  # what JSON says beside the rows
    rows: Path | None = None  # the file of rows that JSON holds


def export(run: FinishedRun, to: str) -> bytes:
    tables = _READ[run.kind](run.place)
    if to == "csv":  # with a byte order mark, by which Excel knows UTF-8
        text = csv_text(list(next(iter(tables.sheets.values()))), "\r\n")
        return text.encode("utf-8-sig", "backslashreplace")
    if to == "xlsx":
        return _xlsx(tables)
    if to == "json":
        return _json(run.kind, tables)
    parts = [f"# {markdown_text(tables.title)}", *map(markdown, tables.summary)]
    parts.append(f"Made by HistoEval {__version__}.")
    return ("\n\n".join(parts) + "\n").encode("utf-8", "backslashreplace")


# --- what each kind of run has -------------------------------------------------------------------


def _scores(folder: Path) -> RunTables:
    summary = read_json(folder / "summary.json", folder)
    store = ResultFolder(folder)
    scores, columns = Scores(summary, store), score_page.read_columns(folder, summary)
    pairs = (
        {"id": record["id"], "system": record["system"], **more} | record
        for record, more in zip(scores.records(), columns.records(), strict=True)
    )
    signatures = [{"metric": name, "signature": text} for name, text in scores.signatures.items()]
    return RunTables(
        f"Scores: {summary['input']['name']}",
        summary_tables(columns, summary),
        {"pairs": pairs, "errors": scores.report_errors(), "signatures": signatures},
        summary,
        store.stored,
    )


def _trust(folder: Path) -> RunTables:
    store = TrustFolder(folder)
    summary = read_json(store.summary, folder)
    return RunTables(
        f"Trust in reports: {summary['input']['name']}",
        trust_tables(summary, ()),
        {"reports": Verdicts(summary, store).records()},
        summary,
        store.path,
    )


def _agreement(folder: Path) -> RunTables:
    agreement, _ = read_agreement(folder)
    return RunTables(
        f"How well metrics follow experts: {agreement.about['name']}",
        agreement_tables(agreement.study, agreement.plan, every_metric=True),
        {"metrics": agreement.records()},
        agreement.to_dict(),
    )


def _comparison(folder: Path) -> RunTables:
    comparison = read_comparison(folder)
    duels = [flat(duel.model_dump(mode="json")) for duel in comparison.contest.duels]
    return RunTables(
        f"Systems compared by {comparison.metric}",
        comparison_tables(comparison.metric, comparison.contest, comparison.apart),
        {"systems": comparison.records(), "duels": duels},
        comparison.to_dict(),
    )


def _extraction(file: Path) -> RunTables:
    """Yield a record for each entity, and one for each report without any."""
    store = RowStore(file, ReadRow.of_line)
    summary = read_json(store.meta, file)["summary"]
    empty = dict.fromkeys(("text", "type", "assertion", "start", "end", "score"))

    def entities() -> Iterator[Record]:
        for row in store:
            problems = "; ".join(error.message for error in row.errors) or None
            for entity in row.report.entities if row.report else ():
                yield {"id": row.id, **entity.model_dump(mode="json"), "problems": None}
            if row.report is None or not row.report.entities:
                yield {"id": row.id, **empty, "problems": problems}

    counts = [(name, f"{count:,}") for name, count in summary["entities"].items()]
    return RunTables(
        f"Extracted: {summary['input']['name']}",
        [ResultTable("Entities", ("type", "found"), counts)],
        {"entities": entities()},
        summary,
        file,
    )


def _experiments(folder: Path) -> RunTables:
    names = experiments_in(folder)
    contents = {name: read_json(folder / f"{name}.json", folder) for name in names}
    texts = [(folder / f"{name}.md").read_text("utf-8") for name in names]
    return RunTables(
        f"Experiments: {folder.resolve().name}",
        [table for text in texts for table in tables_in_markdown(text)],
        {
            name: [flat(finding) for finding in content["found"]]
            for name, content in contents.items()
        },
        contents,
    )


def flat(content: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """Flatten a record: each nested value becomes a column of its own."""
    record: dict[str, Any] = {}
    for name, value in content.items():
        if isinstance(value, Mapping):
            record |= flat(value, f"{before}{name}_")
        elif isinstance(value, list):
            record[f"{before}{name}"] = json.dumps(value, ensure_ascii=False)
        else:
            record[f"{before}{name}"] = value
    return record


def write_picture(folder: Path, name: str, picture: Canvas) -> list[Path]:
    with writing_to(folder):
        make_folder(folder)
        paths = [folder / f"{name}.svg", folder / f"{name}.png"]
        write_text(paths[0], picture.svg())
        write_whole(paths[1], picture.png())
    return paths


_READ: Mapping[str, Callable[[Path], RunTables]] = {
    "score": _scores,
    "judge": _scores,
    "trust": _trust,
    "agree": _agreement,
    "compare": _comparison,
    "extract": _extraction,
    "experiment": _experiments,
}


# --- formats -------------------------------------------------------------------------------------


def _xlsx(tables: RunTables) -> bytes:
    import xlsxwriter

    content = BytesIO()
    book = xlsxwriter.Workbook(
        content, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    )
    book.set_properties({"title": tables.title, "comments": f"HistoEval {__version__}"})
    bold = book.add_format({"bold": True})
    for name, records in tables.sheets.items():
        rows = list(records)
        sheet = book.add_worksheet(name[:31])
        columns = list(dict.fromkeys(name for row in rows for name in row))
        for index, column in enumerate(columns):
            sheet.write_string(0, index, column, bold)
        for line, row in enumerate(rows, start=1):
            for index, column in enumerate(columns):
                cell = row.get(column)
                if isinstance(cell, int | float) and not isinstance(cell, bool):
                    sheet.write_number(line, index, cell)
                elif cell is not None:
                    sheet.write_string(line, index, str(cell)[:MAX_CELL])
        sheet.freeze_panes(1, 1)
        sheet.autofilter(0, 0, max(1, len(rows)), max(0, len(columns) - 1))
    book.close()
    return content.getvalue()


def _json(kind: str, tables: RunTables) -> bytes:
    head = json.dumps({"kind": kind, "summary": tables.about}, ensure_ascii=False)
    content = head.encode("utf-8", "backslashreplace")
    if tables.rows is None:
        return content + b"\n"
    lines = map(bytes.rstrip, row_lines(tables.rows))
    rows = b",\n".join(line for line in lines if line)
    return content.removesuffix(b"}") + b', "rows": [\n' + rows + b"\n]}\n"


def summary_tables(
    columns: score_page.ScoredPairs, summary: Mapping[str, Any]
) -> Iterator[ResultTable]:
    if headlines := score_page.headlines(columns, summary):
        by_severity = [
            [
                headline.system,
                f"{headline.critical:,} of {headline.scored:,}",
                *[f"{headline.severities[name]:,}" for name in score_page.SEVERITIES],
            ]
            for headline in headlines
        ]
        yield ResultTable(
            f"Errors that {columns.judged_by} found, by severity",
            ["system", "reports with a critical error", *score_page.SEVERITIES],
            by_severity,
        )
        kinds = list(dict.fromkeys(kind for headline in headlines for kind in headline.kinds))
        yield ResultTable(
            "Errors by kind",
            ["kind", *[headline.system for headline in headlines]],
            [
                [
                    kind.replace("_", " "),
                    *[f"{headline.kinds.get(kind, 0):,}" for headline in headlines],
                ]
                for kind in kinds
            ],
        )
    yield ResultTable.of(
        "Means over pairs, with 95 % intervals",
        [
            (metric.name, mean)
            for metric in score_page.metric_overviews(columns, summary)
            for mean in metric.systems
        ],
        {
            "metric": lambda mean: mean[0],
            "system": lambda mean: mean[1].system,
            "mean": lambda mean: interval(mean[1].mean, 3, 3, " to "),
            "scored": lambda mean: f"{mean[1].scored:,} of {mean[1].pairs:,}",
        },
    )
    contest = score_page.compared(columns, summary)
    if contest is not None:
        yield from comparison_tables(*contest, ())
