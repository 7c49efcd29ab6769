"""`histoeval agree`: which metric agrees with the experts of a sheet, and how certain is that?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import LookOption, print_lines, print_tables
from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.run.agree import Agreement, AgreeSettings, run_agree
from histoeval.run.history import command_line
from histoeval.settings import Option
from histoeval.view.terminal.agreement import agreement_tables, remarks


@verb
def agree(
    settings: AgreeSettings,
    report: Annotated[
        bool,
        Option("Also write report.md, report.html and figures into --output.", name="--report"),
    ] = False,
    look: LookOption = "table",
) -> None:
    """Measure how well metrics agree with experts, with confidence intervals that fit the data.

    Exit code 0: every row and metric was used; 1: some were not, and are listed; 2: nothing could
    be done.

    Examples:
      histoeval agree sheet.csv --metrics concordance,hare,bleu
      histoeval agree sheet.csv --output results --report
    """
    if report and settings.output is None:
        raise SettingError("--report needs a folder to write to: give --output DIR")
    if report:  # a missing extra is reported before the work
        import histoeval.view.figures.canvas  # noqa: F401
        from histoeval.view.html.run_pages import write_report
    agreement = run_agree(settings)
    print_agreement(agreement, look)
    if settings.output is not None:
        output = Path(settings.output)
        files = [agreement.write(output, command_line())]
        files += write_report(agreement, output, command_line()) if report else []
        print_lines(*[f"Written: {file}" for file in files])
    if agreement.unavailable or agreement.about["unreadable"]:
        raise typer.Exit(1)


def print_agreement(agreement: Agreement, look: str) -> None:
    typer.echo(agreement.about["experts"])
    print_tables(agreement_tables(agreement.study, agreement.plan), look)
    unavailable = [f"{name} {reason}" for name, reason in agreement.unavailable.items()]
    notes = remarks(agreement.study, agreement.plan)
    print_lines(*unavailable, *agreement.notes, *notes, err=True)
