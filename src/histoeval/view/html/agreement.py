"""A study as a document: Markdown and one self-contained page, with every table and figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

from histoeval.io.store import writing_to
from histoeval.resources import resource_text
from histoeval.table import ResultTable, html_table, markdown
from histoeval.version import __version__
from histoeval.view.figures.agreement import figures
from histoeval.view.figures.canvas import Canvas
from histoeval.view.terminal.agreement import agreement_tables, remarks

if TYPE_CHECKING:
    from histoeval.run.agree import Agreement


def write_report(found: Agreement, folder: Path, command: str) -> list[Path]:
    """Write report.md, report.html and figures into a folder, and say what was written."""
    drawn = list(figures(found.panel, found.study, found.plan))
    tables = list(agreement_tables(found.study, found.plan))
    with writing_to(folder):
        (folder / "figures").mkdir(parents=True, exist_ok=True)
        written = list(write_figures(folder / "figures", drawn))
        for name, text in (
            ("report.md", report_markdown(found, tables, drawn, command)),
            ("report.html", report_html(found, tables, drawn, command)),
        ):
            (folder / name).write_text(text, "utf-8")
            written.append(folder / name)
    return written


def write_figures(folder: Path, drawn: Sequence[tuple[str, Canvas]]) -> Iterator[Path]:
    """Every figure as SVG and as PNG."""
    for name, picture in drawn:
        for file, content in (
            (folder / f"{name}.svg", picture.svg().encode()),
            (folder / f"{name}.png", picture.png()),
        ):
            file.write_bytes(content)
            yield file


def report_markdown(
    found: Agreement,
    tables: Sequence[ResultTable],
    drawn: Sequence[tuple[str, Canvas]],
    command: str,
) -> str:
    """The document in Markdown; figures are files beside it."""
    parts = [
        f"# How well metrics follow experts: {found.about['name']}",
        "\n".join(f"- {line}" for line in _facts(found)),
        *[markdown(told) for told in tables],
        "## How to read this",
        "\n".join(f"- {line}" for line in _notes(found)),
        "## Figures",
        *[f"![{picture.title}](figures/{name}.png)" for name, picture in drawn],
        "## Signatures",
        "\n".join(f"- `{each.metric}`: `{each.signature}`" for each in found.study.metrics),
        "## Command",
        f"```console\n$ {command}\n```",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def report_html(
    found: Agreement,
    tables: Sequence[ResultTable],
    drawn: Sequence[tuple[str, Canvas]],
    command: str,
) -> str:
    """The same as one page that needs no other file and no network."""
    template = Template(resource_text("view/html/data/agreement.html"))
    return template.substitute(
        title=escape(f"How well metrics follow experts: {found.about['name']}"),
        facts=_list(_facts(found)),
        tables="\n".join(html_table(told) for told in tables),
        notes=_list(_notes(found)),
        figures="\n".join(f"<figure>{_inline(picture)}</figure>" for _, picture in drawn),
        signatures=_list(f"{each.metric}: {each.signature}" for each in found.study.metrics),
        command=escape(command),
        version=__version__,
    )


def _inline(picture: Canvas) -> str:
    """The element alone, without what makes a file of it."""
    text = picture.svg()
    return text[text.index("<svg") :].strip()


def _list(lines: Iterator[str] | Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"


def _facts(found: Agreement) -> list[str]:
    about, plan = found.about, found.plan
    return [
        f"sheet: {about['name']} (sha256 {about['sha256']}), {about['layout']} layout",
        f"{about['pairs']:,} pairs, {about['rated']:,} scored by experts, {found.study.rows:,} "
        f"used here, of {found.study.cases:,} groups ({plan.group})",
        f"experts: {', '.join(about['raters'])}",
        f"only pairs above 0: {'yes' if plan.positive_only else 'no'}; resamples "
        f"{plan.resamples:,}; permutations {found.study.ranking.permutations:,}; seed {plan.seed}",
        f"histoeval {__version__}",
    ]


def _notes(found: Agreement) -> list[str]:
    lacking = [f"{name} {reason}" for name, reason in found.unavailable.items()]
    return [*lacking, *found.notes, *remarks(found.study, found.plan)]
