"""`histoeval experiment perturb`: edited reports from true ones."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import IdOption, TextOption
from histoeval.cli.options.models import ReaderOption
from histoeval.cli.options.output import (
    OverwriteOption,
    exit_with,
    print_errors,
    resumable,
)
from histoeval.io.reports import open_reports
from histoeval.progress import row_progress
from histoeval.run.models import Models, load_reader
from histoeval_research.cli.experiment_options import EditingModel, SeedOption
from histoeval_research.experiments.perturb import Settings, perturb_file


@verb
def perturb(
    captions: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTIONS",
            help="True reports: a table with id and report, and optionally image.",
        ),
    ],
    output: Annotated[Path, option("JSON lines file to write; a stopped run resumes there.")],
    seed: SeedOption = 0,
    each: Annotated[int, option("Edits of every group for each report; 0 for all.", min=0)] = 1,
    group: Annotated[list[str] | None, option("Only this group of edits; can be repeated.")] = None,
    answers: Annotated[
        bool,
        option(
            "Use the true report as the model's answer under stain changes and attack, so "
            "that `trust` can measure stability: a model that errs in one answer only.",
            name="--answers",
        ),
    ] = False,
    text: TextOption = None,
    id_: IdOption = None,
    reader: ReaderOption = None,
    editor: EditingModel = EditingModel(),
    overwrite: OverwriteOption = False,
) -> None:
    """Edit true reports: paraphrased, slightly wrong, hallucinated, illogical.

    By rules, and with --endpoint also by a language model. Exit code 0: every report was edited;
    1: some rows could not be used, and errors say why; 2: nothing could be done.

    Examples:
      histoeval experiment perturb captions.csv --output perturbed.jsonl
    """
    source = open_reports(captions, text=text, id_=id_)
    chosen = tuple(group) if group else None
    settings = Settings(seed=seed, each=each or None, groups=chosen, answers=answers)
    llm = editor.load()
    loaded = load_reader(Models(reader=reader))
    with resumable(output), row_progress(source, "editing") as watch:
        summary = perturb_file(
            source, loaded, output, settings, subject=llm, overwrite=overwrite, watch=watch
        )
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["groups"].items())
    typer.echo(f"{summary['reports']:,} reports: {counts}")
    for edit, reasons in summary["not_made"].items():
        typer.echo(f"{sum(reasons.values()):,} times no {edit}: {'; '.join(reasons)}", err=True)
    print_errors(summary)
    typer.echo(f"Written: {output}")
    if summary["rows_with_errors"]:
        exit_with(summary["reports"], summary["rows_with_errors"])
