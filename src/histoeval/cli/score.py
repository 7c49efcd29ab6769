"""`histoeval score`: score candidates against references."""

from typing import Annotated

import typer

from histoeval.cli.output import exit_with, print_tables, resumable, say_next
from histoeval.cli.verb import verb
from histoeval.io.results import result_folder
from histoeval.run.score import run_score
from histoeval.run.settings import ScoreSettings
from histoeval.settings import Option
from histoeval.view.terminal.scores import error_tables, problem_table, score_table, signature_lines


@verb
def score(
    settings: ScoreSettings,
    signatures: Annotated[bool, Option("Print the signatures whole.", name="--signatures")] = False,
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
    with resumable(settings.output, "finished scores are"):
        scores = run_score(settings)
    summary = scores.summary
    print_tables([score_table(summary), *error_tables(summary), problem_table(summary)])
    typer.echo("\nSignatures, for your paper (whole: summary.json, --signatures):")
    for line in signature_lines(summary, whole=signatures):
        typer.echo(line)
    typer.echo(f"{summary['rows']:,} pairs, {summary['scores']:,} scores, {scores.seconds:.1f} s")
    if folder := result_folder(settings.output, settings.format):
        typer.echo(f"Written: {folder.stored}, {folder.summary}")
        say_next("To look at it", "report", folder.home)
    exit_with(summary["scores"], summary["rows_with_errors"])
