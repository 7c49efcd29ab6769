"""`histoeval score`: score candidates against references."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import ModelNames, PairColumns, spread
from histoeval.cli.options.judge import JudgeNames
from histoeval.cli.options.models import EncodingOption, OverwriteOption
from histoeval.run.scoring import DEFAULT_METRICS


@spread
def score(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="A table (csv, tsv, jsonl, json, parquet); or references and then one or more "
            "systems, each a text file with a report per line or a folder of text files.",
            show_default=False,
        ),
    ],
    metrics: Annotated[
        str,
        typer.Option(
            help="Names with commas between; settings after a colon, as in "
            "hare:threshold=0.5. `histoeval metrics` lists them."
        ),
    ] = DEFAULT_METRICS,
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for scores.jsonl and summary.json; a stopped run continues."),
    ] = None,
    overwrite: OverwriteOption = False,
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    models: ModelNames = ModelNames(),
    judges: JudgeNames = JudgeNames(),
    batch_size: Annotated[
        int, typer.Option(min=1, help="Pairs handled together; it never changes a score.")
    ] = 256,
) -> None:
    """Score reports against references.

    Exit code 0: every pair was scored; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from rich.console import Console

    from histoeval.io.pairs import open_source
    from histoeval.io.results import ResultFolder
    from histoeval.progress import row_progress
    from histoeval.run.score import score_source
    from histoeval.run.scoring import make_metrics, metric_names
    from histoeval.view.terminal.scores import problem_table, score_table

    wanted = metric_names(metrics)
    folder = None if output is None else ResultFolder(output)
    try:
        source = open_source(inputs, columns.columns(), encoding)
        with row_progress(source) as watch:
            found = score_source(
                source,
                make_metrics(wanted, models.models(judges.choice())),
                folder,
                overwrite=overwrite,
                batch_size=batch_size,
                watch=watch,
            )
    except KeyboardInterrupt:
        typer.echo(_stopped(output), err=True)
        raise typer.Exit(130) from None
    console, summary = Console(), found.summary
    console.print(score_table(summary))
    if (problems := problem_table(summary)) is not None:
        console.print(problems)
    if output is not None:
        typer.echo(f"Written: {output / 'scores.jsonl'}, {output / 'summary.json'}")
    raise typer.Exit(_exit_code(summary["scores"], summary["rows_with_errors"]))


def _exit_code(scores: int, rows_with_errors: int) -> int:
    if not scores:
        return 2
    return 1 if rows_with_errors else 0


def _stopped(output: Path | None) -> str:
    if output is None:
        return "stopped; nothing was kept, since no --output was given"
    return f"stopped; what was scored is kept in {output}: the same command continues there"
