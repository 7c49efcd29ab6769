"""`histoeval experiment perturb`: edited reports from true ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import spread
from histoeval.cli.options.experiment import LanguageModel, OverwriteOption, SeedOption
from histoeval.cli.options.models import COLUMNS, ReaderOption
from histoeval.errors import OutputError


@spread
def perturb(
    captions: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTIONS",
            help="True reports: a table with id and report, and maybe image.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option(help="JSON lines to write; a stopped run continues.")],
    seed: SeedOption = 0,
    each: Annotated[
        int, typer.Option(min=0, help="Edits of every group for each report; 0 is all.")
    ] = 1,
    group: Annotated[
        list[str] | None,
        typer.Option(help="Only this group of edits; can be given again.", show_default=False),
    ] = None,
    answers: Annotated[
        bool,
        typer.Option(
            "--answers",
            help="Let the true report stand for what the model says under stain and attack, so "
            "that `trust` has a stability to tell: a model that errs in one answer only.",
        ),
    ] = False,
    text: Annotated[
        str | None, typer.Option(help="Column of the reports.", rich_help_panel=COLUMNS)
    ] = None,
    id_: Annotated[
        str | None, typer.Option("--id", help="Column of ids.", rich_help_panel=COLUMNS)
    ] = None,
    reader: ReaderOption = None,
    language: LanguageModel = LanguageModel(),
    overwrite: OverwriteOption = False,
) -> None:
    """Make a perturbed set of true reports: reworded, slightly wrong, hallucinated, illogical.

    By rule, and with --endpoint also by a language model. Exit code 0: every report was edited;
    1: some rows could not be used, and errors say why; 2: nothing could be done.
    """
    from histoeval.experiments.perturb import Settings, perturb_file
    from histoeval.io.reports import open_reports
    from histoeval.progress import row_progress
    from histoeval.run.models import Models, load_reader

    if output.exists() and output.samefile(captions):
        raise OutputError(f"{output} is the input itself; give another --output")
    source = open_reports(captions, text=text, id_=id_)
    chosen = tuple(group) if group else None
    settings = Settings(seed=seed, each=each or None, groups=chosen, answers=answers)
    subject = language.subject()
    loaded = load_reader(Models(reader=reader))
    with row_progress(source, "editing") as watch:
        summary = perturb_file(
            source, loaded, output, settings, subject=subject, overwrite=overwrite, watch=watch
        )
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["groups"].items())
    typer.echo(f"{summary['reports']:,} reports: {counts}")
    for edit, reasons in summary["not_made"].items():
        typer.echo(f"{sum(reasons.values()):,} times no {edit}: {'; '.join(reasons)}", err=True)
    for code, error in summary["errors"].items():
        typer.echo(f"{error['count']:,} times {code}: {error['example']}", err=True)
    typer.echo(f"Written: {output}")
    if summary["rows_with_errors"]:
        raise typer.Exit(1 if summary["reports"] else 2)
