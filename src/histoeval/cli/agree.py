"""`histoeval agree`: which metric follows the experts of a sheet, and how surely?"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.options.bundle import ModelNames, PairColumns, spread
from histoeval.cli.options.judge import JudgeNames
from histoeval.cli.options.models import EncodingOption
from histoeval.cli.options.statistics import (
    STATISTICS,
    ByOption,
    CasesOption,
    CoefficientOption,
    GroupOption,
    LookOption,
    MetricsOption,
    PermutationsOption,
    PositiveOption,
    RaterOption,
    ResamplesOption,
    ScaleOption,
    ScoresOption,
    SeedOption,
    SheetFile,
)
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.run.agree import Agreement


@spread
def agree(
    sheet: SheetFile,
    metrics: MetricsOption = None,
    scores: ScoresOption = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for agreement.json and the scores; a stopped run continues."),
    ] = None,
    report: Annotated[
        bool,
        typer.Option(
            "--report", help="Also write report.md, report.html and figures into --output."
        ),
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the scores that the folder holds.")
    ] = False,
    look: LookOption = "table",
    cases: CasesOption = None,
    rater: RaterOption = None,
    group: GroupOption = "case",
    by: ByOption = None,
    positive_only: PositiveOption = False,
    scale: ScaleOption = None,
    coefficient: CoefficientOption = "pearson",
    resamples: ResamplesOption = 10_000,
    permutations: PermutationsOption = 2_000,
    seed: SeedOption = 0,
    power: Annotated[
        str | None,
        typer.Option(
            help="Two metrics, as hare,bleu: how many pairs would tell them apart? Takes a while.",
            rich_help_panel=STATISTICS,
            show_default=False,
        ),
    ] = None,
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    models: ModelNames = ModelNames(),
    judges: JudgeNames = JudgeNames(),
) -> None:
    """Say how well metrics follow experts, with intervals that fit the data.

    Exit code 0: every row and metric was used; 1: some were not, and are named; 2: nothing could
    be done.
    """
    from histoeval.run.agree import agree as study_sheet

    if report and output is None:
        raise SettingError("--report needs a folder to write to: give --output DIR")
    if report:
        import histoeval.view.figures.canvas  # noqa: F401 - what it lacks is told before the work
    found = study_sheet(
        sheet,
        metrics=metrics,
        scores=scores or (),
        cases=cases,
        raters=rater or (),
        group=group,
        by=by or (),
        positive_only=positive_only,
        scale=scale_of(scale),
        coefficient=coefficient,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
        power=two_of(power),
        columns=columns.columns(),
        encoding=encoding,
        models=models.models(judges.choice()),
        output=output,
        overwrite=overwrite,
    )
    show(found, look)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
    if report and output is not None:
        from histoeval.view.html.agreement import write_report

        for file in write_report(found, output, command_line()):
            typer.echo(f"Written: {file}")
    if found.unavailable or found.about["unreadable"]:
        raise typer.Exit(1)


def show(found: Agreement, look: str) -> None:
    """Print the tables, and on stderr what to know of them."""
    from rich.console import Console

    from histoeval.table import markdown, terminal_table
    from histoeval.view.terminal.agreement import agreement_tables, remarks

    console = Console()
    for told in agreement_tables(found.study, found.plan):
        if look == "markdown":
            typer.echo(f"{markdown(told)}\n")
        else:
            console.print(terminal_table(told))
    for name, reason in found.unavailable.items():
        typer.echo(f"{name} {reason}", err=True)
    for note in (*found.notes, *remarks(found.study, found.plan)):
        typer.echo(note, err=True)


def command_line() -> str:
    """The command as it was given, for whoever wants to repeat it."""
    return shlex.join(["histoeval", *sys.argv[1:]])


def scale_of(text: str | None) -> tuple[float, float] | None:
    """Two numbers with a comma between."""
    if text is None:
        return None
    parts = text.split(",")
    try:
        low, high = (float(part) for part in parts)
    except ValueError as error:
        raise SettingError(f"--scale {text!r} is not two numbers, as in 0,5") from error
    return low, high


def two_of(text: str | None) -> tuple[str, str] | None:
    """Two names with a comma between."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise SettingError(f"--power {text!r} is not two metrics, as in hare,bleu")
    return names[0], names[1]
