"""The experiments that hold several runs beside each other: benchmark, gap, variance."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.experiment import PictureOption, ResamplesOption, SeedOption, say
from histoeval.errors import SettingError


def benchmark(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="DATASET/MODEL=FOLDER",
            help="A folder of `trust` for each model and data set.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder for the table.")],
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Table 2: grounding, logic, stability and trust of several models on several data sets."""
    from histoeval.experiments.benchmark import benchmark as run
    from histoeval.experiments.benchmark import run_of
    from histoeval.view.terminal.experiments import benchmark_notes, benchmark_table

    found = run([run_of(text) for text in runs], resamples, seed)
    say(output, "table2", [benchmark_table(found)], benchmark_notes(found), found, {})


def gap(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL=PUBLIC,PRIVATE",
            help="For each model its folders of `trust` on known and on unseen data.",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option(help="Folder for the table.")],
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Table 3: how much less each model can be trusted on data it does not know."""
    from histoeval.experiments.benchmark import gap_of, gaps
    from histoeval.table import footnotes
    from histoeval.view.terminal.experiments import gap_table

    found = gaps([gap_of(text) for text in models], resamples, seed)
    notes = footnotes((f"{each.model}, {each.measure}", each.drop.reason) for each in found)
    say(output, "table3", [gap_table(found)], notes, found, {})


def variance(
    output: Annotated[Path, typer.Option(help="Folder for the table.")],
    judge: Annotated[
        list[Path] | None,
        typer.Option(help="Folder of `judge --repeats N`; can be given again.", show_default=False),
    ] = None,
    trust: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of `trust`; give two or more runs over the same reports.",
            show_default=False,
        ),
    ] = None,
    figure: PictureOption = False,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Figure 3a: how far judges, and PathGLS, differ from themselves when asked again."""
    from histoeval.experiments.benchmark import judge_variance, trust_variance
    from histoeval.view.terminal.experiments import variance_table, write_picture

    if not judge and not trust:
        raise SettingError("nothing to hold beside each other: give --judge or --trust folders")
    found = [each for folder in judge or () for each in judge_variance(folder, resamples, seed)]
    if trust:
        found.append(trust_variance(trust, resamples, seed))
    say(output, "figure3a", [variance_table(found)], [], found, {})
    if figure:
        from histoeval.view.figures.experiments import variance_figure

        write_picture(output, "figure3a", variance_figure(found))
