"""`histoeval compare`: which system writes better reports, by one metric?"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.output import LookOption, command_line, print_tables
from histoeval.cli.options.statistics import PermutationsOption, ResamplesOption, SeedOption
from histoeval.run.compare import MOST_DIFFERENT
from histoeval.run.compare import compare as compare_systems
from histoeval.statistics.resampling import PERMUTATIONS, RESAMPLES
from histoeval.view.terminal.comparison import comparison_tables, remarks


@verb
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES",
            help="scores.jsonl files written by `histoeval score`, or their folders. One file may "
            "hold several systems.",
        ),
    ],
    metric: Annotated[
        str | None,
        metric_option(
            "Metric to compare by. When omitted: concordance, or the only one in the files."
        ),
    ] = None,
    cases: Annotated[
        Path | None, option("Table of id and case; without it each id is its own case.")
    ] = None,
    tie: Annotated[
        float, option("Largest difference of scores that counts as a tie.", min=0)
    ] = 0.0,
    missing: Annotated[
        Literal["worst", "skip"] | None,
        option(
            "What to do with ids that not every system has: give a system without a score the "
            "metric's worst value, or skip the id. When omitted: skip, unless that leaves less "
            "than half of the ids."
        ),
    ] = None,
    show: Annotated[int, option("Number of most different pairs to show.", min=0)] = MOST_DIFFERENT,
    output: Annotated[Path | None, option("Folder for comparison.json.")] = None,
    look: LookOption = "table",
    resamples: ResamplesOption = RESAMPLES,
    permutations: PermutationsOption = PERMUTATIONS,
    seed: SeedOption = 0,
) -> None:
    """Compare systems: means, differences with tests, wins, and the cases that differ most.

    Examples:
      histoeval compare results_a results_b
      histoeval compare results_a results_b --metric bleu --missing worst
    """
    found = compare_systems(
        files,
        metric=metric,
        cases=cases,
        tie=tie,
        missing=missing,
        most_different=show,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )
    for note in found.notes:
        typer.echo(note)
    print_tables(comparison_tables(found.metric, found.contest, found.apart), look)
    for remark in remarks(found.contest):
        typer.echo(remark, err=True)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
