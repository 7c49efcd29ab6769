"""`histoeval compare`: which system writes better, by the metric the user trusts?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.agree import command_line
from histoeval.cli.options.statistics import (
    LookOption,
    PermutationsOption,
    ResamplesOption,
    SeedOption,
)


def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="SCORES",
            help="scores.jsonl files that `histoeval score` has written, or their folders. One "
            "file may hold several systems.",
            show_default=False,
        ),
    ],
    metric: Annotated[
        str | None,
        typer.Option(help="Score to go by; needed where the files hold several."),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="Table of id and case; without one each id is a case of its own."),
    ] = None,
    tie: Annotated[
        float, typer.Option(min=0, help="Scores that differ by no more are neither won nor lost.")
    ] = 0.0,
    show: Annotated[
        int, typer.Option(min=0, help="How many of the pairs that differ most to show.")
    ] = 5,
    output: Annotated[
        Path | None, typer.Option(help="Folder for comparison.json.", show_default=False)
    ] = None,
    look: LookOption = "table",
    resamples: ResamplesOption = 10_000,
    permutations: PermutationsOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Compare systems: means, differences with tests, wins, and the cases that differ most."""
    from rich.console import Console

    from histoeval.run.compare import compare as compare_systems
    from histoeval.table import markdown, terminal_table
    from histoeval.view.terminal.comparison import comparison_tables, remarks

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
    console = Console()
    for told in comparison_tables(found.metric, found.contest, found.apart):
        if look == "markdown":
            typer.echo(f"{markdown(told)}\n")
        else:
            console.print(terminal_table(told))
    for remark in remarks(found.contest, found.left_out):
        typer.echo(remark, err=True)
    if output is not None:
        typer.echo(f"Written: {found.write(output, command_line())}")
