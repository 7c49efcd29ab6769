"""`histoeval experiment`: the experiments of the PathGLS paper, on anyone's data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.experiment.models import benchmark, gap, variance
from histoeval.cli.experiment.perturb import perturb
from histoeval.cli.options.experiment import (
    SET,
    OverwriteOption,
    PictureOption,
    ResamplesOption,
    SeedOption,
    WeightsOption,
    say,
)
from histoeval.cli.options.models import MODELS, AlignerOption, DeviceOption, ReaderOption

if TYPE_CHECKING:
    from histoeval.experiments.sensitivity import MeasureSet

experiment_app = typer.Typer(
    no_args_is_help=True,
    help="The PathGLS paper's experiments on your data: perturbed reports, sensitivity, error "
    "hierarchy, benchmark, domain gap, ablation, variance of judges, and a page of examples.",
)
experiment_app.command()(perturb)
experiment_app.command()(benchmark)
experiment_app.command()(gap)
experiment_app.command()(variance)

PerturbedArgument = Annotated[
    Path, typer.Argument(metavar="PERTURBED", help=SET, show_default=False)
]
ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="Folder of `experiment sensitivity`, or of `trust` run on the perturbed set.",
        show_default=False,
    ),
]
LevelsOption = Annotated[
    Path | None,
    typer.Option("--perturbed", help=f"{SET} Needed where RESULTS is of `trust`."),
]


@experiment_app.command()
def sensitivity(
    perturbed: PerturbedArgument,
    output: Annotated[Path, typer.Option(help="Folder for scores and tables.")],
    metrics: Annotated[
        str, typer.Option(help="Metrics to hold beside, with commas.")
    ] = "bleu,bertscore,hare,concordance",
    images: Annotated[
        Path | None,
        typer.Option(help="Folder of the images; without it there is no grounding."),
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="Image and text encoder of grounding, as `trust` takes it.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    text_encoder: Annotated[
        str | None,
        typer.Option(
            help="Encoder of BERTScore: a folder or a hub name; our reader's when left out.",
            rich_help_panel=MODELS,
        ),
    ] = None,
    nli: Annotated[
        str | None, typer.Option(help="NLI model of logic.", rich_help_panel=MODELS)
    ] = None,
    reader: ReaderOption = None,
    aligner: AlignerOption = None,
    device: DeviceOption = None,
    mpp: Annotated[float | None, typer.Option(help="Microns per pixel of the images.")] = None,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
) -> None:
    """Table 1: by how much each measure falls on hallucinations and logic errors."""
    from histoeval.experiments.instruments import open_bench
    from histoeval.experiments.rows import read_perturbed
    from histoeval.experiments.sensitivity import measure_file
    from histoeval.experiments.sensitivity import sensitivity as table
    from histoeval.progress import step_progress
    from histoeval.run.models import Models
    from histoeval.view.terminal.experiments import sensitivity_notes, sensitivity_table

    models = Models(reader=reader, aligner=aligner, encoder=text_encoder, device=device)
    specs = [spec.strip() for spec in metrics.split(",") if spec.strip()]
    bench: MeasureSet = open_bench(perturbed, specs, models, images, encoder, nli, mpp)
    with step_progress("measuring", len(read_perturbed(perturbed))) as tell:
        rows = measure_file(
            perturbed, output, bench, overwrite=overwrite, watch=lambda done, *_: tell(done)
        )
    drops = table(rows, resamples, seed)
    about = {"signatures": bench.signatures, "lacking": bench.lacking}
    tables = [sensitivity_table(drops, bench.lacking)]
    say(output, "table1", tables, sensitivity_notes(drops, bench.lacking), drops, about)


@experiment_app.command()
def hierarchy(
    results: ResultsArgument,
    output: Annotated[Path, typer.Option(help="Folder for the tables.")],
    perturbed: LevelsOption = None,
    weights: WeightsOption = None,
    figure: PictureOption = False,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Rank correlation of every measure, and of trust, with the error hierarchy."""
    from histoeval.experiments.hierarchy import hierarchy as follow
    from histoeval.experiments.hierarchy import read_graded, with_trust
    from histoeval.table import footnotes
    from histoeval.trust.policy.policy import PAPER, weights_of
    from histoeval.view.terminal.experiments import hierarchy_tables, write_picture

    chosen = PAPER if weights is None else weights_of(weights)
    found = follow(with_trust(read_graded(results, perturbed), chosen), resamples, seed)
    notes = footnotes((each.measure, each.spearman.reason) for each in found)
    say(output, "hierarchy", hierarchy_tables(found), notes, found, {"weights": str(chosen)})
    if figure:
        from histoeval.view.figures.experiments import hierarchy_figure

        write_picture(output, "hierarchy", hierarchy_figure(found))


@experiment_app.command()
def ablation(
    results: ResultsArgument,
    output: Annotated[Path, typer.Option(help="Folder for the table.")],
    perturbed: LevelsOption = None,
    weights: WeightsOption = None,
    figure: PictureOption = False,
    resamples: ResamplesOption = 10_000,
    seed: SeedOption = 0,
) -> None:
    """Figure 3b: what trust loses without each of its dimensions."""
    from histoeval.experiments.hierarchy import ablation as ablate
    from histoeval.experiments.hierarchy import read_graded
    from histoeval.trust.policy.policy import PAPER, weights_of
    from histoeval.view.terminal.experiments import ablation_table, write_picture

    chosen = PAPER if weights is None else weights_of(weights)
    found = ablate(read_graded(results, perturbed), chosen, resamples, seed)
    say(output, "figure3b", [ablation_table(found)], [], [found], {"weights": str(chosen)})
    if figure:
        from histoeval.view.figures.experiments import ablation_figure

        write_picture(output, "figure3b", ablation_figure(found))


@experiment_app.command()
def page(
    perturbed: PerturbedArgument,
    results: ResultsArgument,
    output: Annotated[Path, typer.Option(help="HTML file to write.")],
    images: Annotated[Path | None, typer.Option(help="Folder of the images.")] = None,
    most: Annotated[int, typer.Option(min=1, help="Reports on the page.")] = 12,
) -> None:
    """Table 4: a page of examples, with pictures, changes and what each measure said."""
    from histoeval.experiments.rows import read_perturbed
    from histoeval.experiments.sensitivity import read_scored
    from histoeval.io.store import writing_to
    from histoeval.view.html.experiments import experiment_page

    rows = read_perturbed(perturbed)
    text = experiment_page(rows, read_scored(results), images=images, most=most)
    with writing_to(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    typer.echo(f"Written: {output}")
