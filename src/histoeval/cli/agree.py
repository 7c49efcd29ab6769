"""`histoeval agree`: which metric agrees with the experts of a sheet, and how certain is that?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption, PairColumns
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.judge import JudgeOptions
from histoeval.cli.options.models import MetricModels
from histoeval.cli.options.output import LookOption, OverwriteOption, print_tables
from histoeval.cli.options.statistics import STATISTICS, SheetFile, StudyOptions
from histoeval.errors import SettingError
from histoeval.run.agree import Agreement
from histoeval.run.agree import agree as study_sheet
from histoeval.run.history.stored_runs import command_line
from histoeval.view.terminal.agreement import agreement_tables, remarks


@verb
def agree(
    sheet: SheetFile,
    metrics: Annotated[
        str | None,
        metric_option(
            "Metrics, separated by commas, as for `histoeval score`. When omitted: those of "
            "--scores, or else the default ones."
        ),
    ] = None,
    scores: Annotated[
        list[Path] | None,
        option(
            "scores.jsonl of the same sheet, or its folder; its metrics are not run again. "
            "Can be repeated."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        option("Folder for agreement.json and the scores; a stopped run resumes there."),
    ] = None,
    report: Annotated[
        bool,
        option("Also write report.md, report.html and figures into --output.", name="--report"),
    ] = False,
    overwrite: OverwriteOption = False,
    look: LookOption = "table",
    study: StudyOptions = StudyOptions(),
    by: Annotated[
        list[str] | None,
        option(
            "Also report each system, set, case or value of a column, such as organ; can be "
            "repeated.",
            STATISTICS,
            name="--by",
        ),
    ] = None,
    power: Annotated[
        str | None,
        option(
            "Two metrics, as in hare,bleu: how many pairs are needed to tell them apart? "
            "Takes a while.",
            STATISTICS,
        ),
    ] = None,
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    models: MetricModels = MetricModels(),
    judges: JudgeOptions = JudgeOptions(),
) -> None:
    """Measure how well metrics agree with experts, with confidence intervals that fit the data.

    Exit code 0: every row and metric was used; 1: some were not, and are listed; 2: nothing could
    be done.

    Examples:
      histoeval agree sheet.csv --metrics concordance,hare,bleu
      histoeval agree sheet.csv --output results --report
    """
    if report and output is None:
        raise SettingError("--report needs a folder to write to: give --output DIR")
    if report:  # a missing extra is reported before the work
        from histoeval.view.html.agreement import figures_of, write_report

        figures_of()
    found = study_sheet(
        sheet,
        metrics=metrics,
        scores=scores or (),
        by=by or (),
        power=metric_pair(power),
        columns=columns.columns(),
        encoding=encoding,
        models=models.models(judge=judges.config()),
        output=output,
        overwrite=overwrite,
        **study.settings(),
    )
    print_agreement(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
        for file in write_report(found, output, command_line()) if report else ():
            typer.echo(f"Written: {file}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)


def print_agreement(found: Agreement, look: str) -> None:
    """Print whose scores are the experts', the tables, and notes on stderr."""
    typer.echo(found.about["experts"])
    print_tables(agreement_tables(found.study, found.plan), look)
    for name, reason in found.unavailable.items():
        typer.echo(f"{name} {reason}", err=True)
    for note in (*found.notes, *remarks(found.study, found.plan)):
        typer.echo(note, err=True)


def metric_pair(text: str | None) -> tuple[str, str] | None:
    """Two names with a comma between."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise SettingError(f"--power {text!r} is not two metrics, as in hare,bleu")
    return names[0], names[1]
