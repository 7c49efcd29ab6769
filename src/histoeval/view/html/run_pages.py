"""The pages of `agree`, `extract`, `compare` and `experiment`, from the files of a finished run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from histoeval.errors import InputError, MissingDependency
from histoeval.io.finished_run import experiments_in
from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore, read_json
from histoeval.io.writing import write_text, writing_to
from histoeval.report import Report
from histoeval.run.stored import read_agreement, read_comparison
from histoeval.table import ResultTable, html_table, markdown, markdown_text, tables_in_markdown
from histoeval.version import __version__
from histoeval.view.exports import write_picture
from histoeval.view.findings import Findings, findings_in
from histoeval.view.highlight import html
from histoeval.view.html.page import Website, render
from histoeval.view.terminal import comparison as terminal
from histoeval.view.terminal.agreement import agreement_tables, remarks
from histoeval.view.terminal.extraction import entity_spans, marked_entity

if TYPE_CHECKING:
    from histoeval.run.agree import Agreement
    from histoeval.view.figures.canvas import Canvas

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
            html_table(
                ResultTable(
                    title, ["", "found"], [(n, f"{c:,}") for n, c in counts_by_name.items()]
                )
            )
            for title, counts_by_name in tables.items()
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
                "mark": f"{spans[relation.head].mark} {spans[relation.tail].mark}",
                "head": marked_entity(report.entities[relation.head]),
                "tail": marked_entity(report.entities[relation.tail]),
            }
            for relation in report.relations
        ],
    }


def comparison_page(folder: Path, site: Website | None = None) -> str:
    comparison = read_comparison(folder)
    gate = comparison.gate
    changes = [] if gate is None else [terminal.changes_table(gate)]
    names = [ranked.system for ranked in comparison.contest.systems]
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


TITLE = "How well metrics follow experts: {}"


def write_report(agreement: Agreement, folder: Path, command: str) -> list[Path]:
    from histoeval.view.figures.agreement import figures

    drawn = list(figures(agreement.panel, agreement.study, agreement.plan))
    with writing_to(folder):
        written = [
            path
            for name, picture in drawn
            for path in write_picture(folder / "figures", name, picture)
        ]
        for name, text in (
            ("report.md", report_markdown(agreement, drawn, command)),
            ("report.html", report_html(agreement, drawn, command)),
        ):
            write_text(folder / name, text)
            written.append(folder / name)
    return written


def agreement_page(folder: Path, site: Website | None = None) -> str:
    """Render the page of a finished study; it lacks figures without [figures] or stored scores."""
    agreement, command = read_agreement(folder)
    if site is not None:  # whoever visits need not know the folders of this machine
        command = " ".join(PurePath(word).name or word for word in command.split())
    drawn: list[tuple[str, Canvas]] = []
    with suppress(MissingDependency):
        from histoeval.view.figures.agreement import figures

        if len(agreement.panel):
            drawn = list(figures(agreement.panel, agreement.study, agreement.plan))
    return report_html(agreement, drawn, command, site)


def report_markdown(agreement: Agreement, drawn: Sequence[tuple[str, Canvas]], command: str) -> str:
    """Write the report in Markdown; figures are files beside it."""
    tables = agreement_tables(agreement.study, agreement.plan, every_metric=True)
    signatures = [  # code, which no name can leave
        (metric.metric.replace("`", "'"), metric.signature.replace("`", "'"))
        for metric in agreement.study.metrics
    ]
    parts = [
        f"# {markdown_text(TITLE.format(agreement.about['name']))}",
        "\n".join(f"- {markdown_text(line)}" for line in _facts(agreement)),
        *map(markdown, tables),
        "## How to read this",
        "\n".join(f"- {markdown_text(line)}" for line in _notes(agreement)),
        "## Figures",
        *[f"![{picture.title}](figures/{name}.png)" for name, picture in drawn],
        "## Signatures",
        "\n".join(f"- `{metric}`: `{signature}`" for metric, signature in signatures),
        "## Command",
        f"```console\n$ {command.replace('```', '')}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def report_html(
    agreement: Agreement,
    drawn: Sequence[tuple[str, Canvas]],
    command: str,
    site: Website | None = None,
) -> str:
    svgs = [picture.svg() for _, picture in drawn]
    tables = agreement_tables(agreement.study, agreement.plan, every_metric=True)
    return render(
        "agreement.html",
        site=site,
        title=TITLE.format(agreement.about["name"]),
        facts=_facts(agreement),
        tables=map(html_table, tables),
        notes=_notes(agreement),
        figures=[Markup(svg[svg.index("<svg") :].strip()) for svg in svgs],
        signatures=[f"{metric.metric}: {metric.signature}" for metric in agreement.study.metrics],
        command=command,
    )


def _facts(agreement: Agreement) -> list[str]:
    about, plan = agreement.about, agreement.plan
    return [
        about["experts"],
        f"sheet: {about['name']} (sha256 {about['sha256']}), {about['layout']} layout",
        f"{about['pairs']:,} pairs, {about['rated']:,} scored by experts, {agreement.study.rows:,} "
        f"used here, of {agreement.study.cases:,} groups ({plan.group})",
        f"only pairs above 0: {'yes' if plan.positive_only else 'no'}; ranked by "
        f"{plan.coefficient.value.title()}; resamples {plan.resamples:,}; permutations "
        f"{agreement.study.ranking.permutations:,}; seed {plan.seed}",
        f"histoeval {__version__}",
    ]


def _notes(agreement: Agreement) -> list[str]:
    unavailable = [f"{name} {reason}" for name, reason in agreement.unavailable.items()]
    return [*unavailable, *agreement.notes, *remarks(agreement.study, agreement.plan)]
