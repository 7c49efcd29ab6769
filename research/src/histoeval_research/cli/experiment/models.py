"""The experiments that compare several runs: benchmark, gap, variance."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.errors import SettingError
from histoeval.statistics.resampling import RESAMPLES
from histoeval.table import footnotes
from histoeval.view.exports import write_picture
from histoeval_research.cli.experiment_options import (
    FigureOption,
    ResamplesOption,
    SeedOption,
    TableFolder,
    print_experiment,
)
from histoeval_research.experiments.benchmark import benchmark as compare_runs
from histoeval_research.experiments.benchmark import (
    gap_of,
    gaps,
    judge_variance,
    run_of,
    trust_variance,
)
from histoeval_research.view.experiment_tables import (
    benchmark_notes,
    benchmark_table,
    gap_table,
    variance_table,
)


@verb
def benchmark(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="DATASET/MODEL=FOLDER",
            help="A results folder of `trust` for each model and data set.",
        ),
    ],
    output: TableFolder,
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
) -> None:
    """Table 2: grounding, logic, stability and trust of several models on several data sets.

    Examples:
      histoeval experiment benchmark tcga/a=trust_a tcga/b=trust_b --output table2
    """
    found = compare_runs([run_of(text) for text in runs], resamples, seed)
    print_experiment(output, "table2", [benchmark_table(found)], benchmark_notes(found), found, {})


@verb
def gap(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL=PUBLIC,PRIVATE",
            help="For each model its results folders of `trust` on known and on unseen data.",
        ),
    ],
    output: TableFolder,
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
) -> None:
    """Table 3: how much trust each model loses on unseen data.

    Examples:
      histoeval experiment gap model=trust_public,trust_private --output table3
    """
    found = gaps([gap_of(text) for text in models], resamples, seed)
    notes = footnotes((f"{each.model}, {each.measure}", each.drop.reason) for each in found)
    print_experiment(output, "table3", [gap_table(found)], notes, found, {})


@verb
def variance(
    output: TableFolder,
    judge: Annotated[
        list[Path] | None, option("Folder of `judge --repeats N`; can be repeated.")
    ] = None,
    trust: Annotated[
        list[Path] | None, option("Folder of `trust`; give two or more runs on the same reports.")
    ] = None,
    figure: FigureOption = False,
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
) -> None:
    """Figure 3a: how much judges, and PathGLS, vary when they are run again.

    Examples:
      histoeval experiment variance --judge judged --output figure3a
    """
    if not judge and not trust:
        raise SettingError("nothing to compare: give --judge or --trust folders")
    found = [each for folder in judge or () for each in judge_variance(folder, resamples, seed)]
    if trust:
        found.append(trust_variance(trust, resamples, seed))
    print_experiment(output, "figure3a", [variance_table(found)], [], found, {})
    if figure:
        from histoeval_research.view.figures import variance_figure

        write_picture(output, "figure3a", variance_figure(found))
