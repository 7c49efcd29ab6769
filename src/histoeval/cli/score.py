"""`histoeval score`: score candidates against references."""

import gc
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption, JoinOptions, PairColumns
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.engine import EngineOptions
from histoeval.cli.options.judge import JudgeOptions
from histoeval.cli.options.models import MetricModels
from histoeval.cli.options.output import (
    NoTextsOption,
    OverwriteOption,
    RowFormOption,
    exit_with,
    print_tables,
    resumable,
    say_next,
)
from histoeval.io.pairs import open_source
from histoeval.io.results import result_folder
from histoeval.io.tables.remote import local_input
from histoeval.progress import row_progress
from histoeval.run.models import DEFAULT_METRICS, load_metrics, metric_names
from histoeval.run.score import score_source
from histoeval.view.terminal.scores import (
    error_tables,
    problem_table,
    score_table,
    signature_lines,
)


@verb
def score(
    inputs: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            parser=local_input,
            help="A table (csv, tsv, jsonl, json, parquet); or, with --truth, one or more systems, "
            "each a table, a folder of text, Word or PDF files, HL7 or FHIR; or references and "
            "then systems as text files with a report per line or folders. Addresses such as "
            "s3://bucket/pairs.csv are read by fsspec.",
        ),
    ],
    metrics: Annotated[
        str,
        metric_option(
            "Metrics, separated by commas; settings follow a colon, as in "
            "hare:threshold=0.5. `histoeval metrics` lists them."
        ),
    ] = DEFAULT_METRICS,
    output: Annotated[
        Path | None,
        option("Folder for scores.jsonl and summary.json; a stopped run resumes there."),
    ] = None,
    form: RowFormOption = None,
    overwrite: OverwriteOption = False,
    no_texts: NoTextsOption = False,
    join: JoinOptions = JoinOptions(),
    columns: PairColumns = PairColumns(),
    encoding: EncodingOption = None,
    models: MetricModels = MetricModels(),
    judges: JudgeOptions = JudgeOptions(),
    engine: EngineOptions = EngineOptions(),
    signatures: Annotated[bool, option("Print the signatures whole.", name="--signatures")] = False,
) -> None:
    """Score reports against references.

    Exit code 0: every pair was scored; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval score pairs.csv --output results
      histoeval score pairs.parquet --output results --format parquet
      histoeval score references.txt system_a.txt system_b.txt --metrics bleu,hare
      histoeval score --truth truth.json team_a.json team_b.csv
    """
    chosen = metric_names(metrics)
    folder = result_folder(output, form)
    with resumable(output, "finished scores are"):
        source = open_source(
            inputs, columns.columns(), encoding, truth=join.truth, joining=join.joining()
        )
        loaded = load_metrics(chosen, models.models(judge=judges.config()))
        gc.freeze()  # models and libraries stay: collecting garbage need not look through them
        with row_progress(source) as watch:
            found = score_source(
                source,
                loaded,
                folder,
                overwrite=overwrite,
                batch_size=engine.block_rows,
                engine=engine.chosen(),
                watch=watch,
                texts=not no_texts,
            )
    summary = found.summary
    print_tables([score_table(summary), *error_tables(summary), problem_table(summary)])
    typer.echo("\nSignatures, for your paper (whole: summary.json, --signatures):")
    for line in signature_lines(summary, whole=signatures):
        typer.echo(line)
    typer.echo(f"{summary['rows']:,} pairs, {summary['scores']:,} scores, {found.seconds:.1f} s")
    if output is not None and folder is not None:
        typer.echo(f"Written: {folder.stored}, {folder.summary}")
        say_next("To look at it", "report", output)
    exit_with(summary["scores"], summary["rows_with_errors"])
