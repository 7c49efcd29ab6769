"""The report of an agreement study in Markdown and as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from markupsafe import Markup

from histoeval.errors import MissingDependency
from histoeval.io.writing import write_text, writing_to
from histoeval.run.stored import read_agreement
from histoeval.table import html_table, markdown, markdown_text
from histoeval.version import __version__
from histoeval.view.exports import write_picture
from histoeval.view.html.page import Website, render
from histoeval.view.terminal.agreement import agreement_tables, remarks

if TYPE_CHECKING:
    from histoeval.run.agree import Agreement
    from histoeval.view.figures.canvas import Canvas


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
    """The page of a finished study; without the extra [figures], or kept scores, it has none."""
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
    """The report in Markdown; figures are files beside it."""
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
        signatures=[f"{each.metric}: {each.signature}" for each in agreement.study.metrics],
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
