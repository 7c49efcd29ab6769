"""`histoeval compare`: which system writes better reports, by one metric?"""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.output import LookOption, command_line, print_tables
from histoeval.cli.options.statistics import PermutationsOption, ResamplesOption, SeedOption
from histoeval.run.compare import compare as compare_systems
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
        str | None, option("Metric to compare by; needed if the files hold several.")
    ] = None,
    cases: Annotated[
        Path | None, option("Table of id and case; without it each id is its own case.")
    ] = None,
    tie: Annotated[
        float, option("Largest difference of scores that counts as a tie.", min=0)
    ] = 0.0,
    show: Annotated[int, option("Number of most different pairs to show.", min=0)] = 5,
    output: Annotated[Path | None, option("Folder for comparison.json.")] = None,
    look: LookOption = "table",
    resamples: ResamplesOption = 10_000,
    permutations: PermutationsOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Compare systems: means, differences with tests, wins, and the cases that differ most.

    Examples:
      histoeval compare results_a results_b --metric concordance
    """
    found = compare_systems(
        files,
        metric=metric,
        cases=cases,
        tie=tie,
        most_different=show,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )
    print_tables(comparison_tables(found.metric, found.contest, found.apart), look)
    for remark in remarks(found.contest, found.left_out):
        typer.echo(remark, err=True)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
