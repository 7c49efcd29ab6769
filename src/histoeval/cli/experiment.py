"""`histoeval experiment`: the experiments of the PathGLS paper, on anyone's data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.experiment_models import benchmark, gap, variance
from histoeval.cli.experiment_perturb import perturb
from histoeval.cli.experimenting import (
    SET,
    OverwriteOption,
    PictureOption,
    ResamplesOption,
    SeedOption,
    WeightsOption,
    say,
)
from histoeval.cli.options import MODELS, AlignerOption, DeviceOption, ReaderOption

if TYPE_CHECKING:
    from histoeval.run.sensitivity import Bench

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
    from histoeval.run.bench import open_bench  # noqa: PLC0415 - keeps --help fast
    from histoeval.run.models import Models  # noqa: PLC0415
    from histoeval.run.perturbed import read_perturbed  # noqa: PLC0415
    from histoeval.run.sensitivity import measure_file  # noqa: PLC0415
    from histoeval.run.sensitivity import sensitivity as table  # noqa: PLC0415
    from histoeval.view.experiments import sensitivity_notes, sensitivity_table  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    models = Models(reader=reader, aligner=aligner, encoder=text_encoder, device=device)
    specs = [spec.strip() for spec in metrics.split(",") if spec.strip()]
    bench: Bench = open_bench(perturbed, specs, models, images, encoder, nli, mpp)
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
    from histoeval.run.hierarchy import hierarchy as follow  # noqa: PLC0415 - keeps --help fast
    from histoeval.run.hierarchy import read_graded, with_trust  # noqa: PLC0415
    from histoeval.trust.policy import PAPER, weights_of  # noqa: PLC0415
    from histoeval.view.experiments import hierarchy_tables, write_picture  # noqa: PLC0415
    from histoeval.view.tables import footnotes  # noqa: PLC0415

    chosen = PAPER if weights is None else weights_of(weights)
    found = follow(with_trust(read_graded(results, perturbed), chosen), resamples, seed)
    notes = footnotes((each.measure, each.spearman.reason) for each in found)
    say(output, "hierarchy", hierarchy_tables(found), notes, found, {"weights": str(chosen)})
    if figure:
        from histoeval.view.experiment_figures import hierarchy_figure  # noqa: PLC0415

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
    from histoeval.run.hierarchy import ablation as ablate  # noqa: PLC0415 - keeps --help fast
    from histoeval.run.hierarchy import read_graded  # noqa: PLC0415
    from histoeval.trust.policy import PAPER, weights_of  # noqa: PLC0415
    from histoeval.view.experiments import ablation_table, write_picture  # noqa: PLC0415

    chosen = PAPER if weights is None else weights_of(weights)
    found = ablate(read_graded(results, perturbed), chosen, resamples, seed)
    say(output, "figure3b", [ablation_table(found)], [], [found], {"weights": str(chosen)})
    if figure:
        from histoeval.view.experiment_figures import ablation_figure  # noqa: PLC0415

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
    from histoeval.io.results import files_of  # noqa: PLC0415 - keeps --help fast
    from histoeval.run.perturbed import read_perturbed  # noqa: PLC0415
    from histoeval.run.sensitivity import read_scored  # noqa: PLC0415
    from histoeval.view.experiment_page import experiment_page  # noqa: PLC0415

    rows = read_perturbed(perturbed)
    text = experiment_page(rows, read_scored(results), images=images, most=most)
    with files_of(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(text, "utf-8")
    typer.echo(f"Written: {output}")
