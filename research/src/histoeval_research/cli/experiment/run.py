"""`histoeval experiment`: the experiments of the PathGLS paper, on your data."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.models import (
    MODELS,
    AlignerOption,
    DeviceOption,
    EncoderOption,
    NliOption,
    ReaderOption,
)
from histoeval.cli.options.output import OverwriteOption
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.pathgls.policy.policy import PAPER, DimensionWeights, weights_of
from histoeval.progress import step_progress
from histoeval.run.models import Models
from histoeval.statistics.resampling import RESAMPLES
from histoeval.table import footnotes
from histoeval.view.exports import write_picture
from histoeval_research.cli.experiment.models import benchmark, gap, variance
from histoeval_research.cli.experiment.pathgls import pathgls
from histoeval_research.cli.experiment.perturb import perturb
from histoeval_research.cli.experiment_options import (
    FigureOption,
    ResamplesOption,
    SeedOption,
    TableFolder,
    print_experiment,
)
from histoeval_research.experiments.hierarchy import ablation as ablate_trust
from histoeval_research.experiments.hierarchy import hierarchy as rank_levels
from histoeval_research.experiments.hierarchy import read_graded, with_trust
from histoeval_research.experiments.measures import read_perturbed
from histoeval_research.experiments.sensitivity import measure_file, open_bench, read_scored
from histoeval_research.experiments.sensitivity import sensitivity as drops_of
from histoeval_research.view.experiment_page import experiment_page
from histoeval_research.view.experiment_tables import (
    ablation_table,
    hierarchy_tables,
    sensitivity_notes,
    sensitivity_table,
)

experiment_app = typer.Typer(
    no_args_is_help=True,
    help="Repeat the experiments of the PathGLS paper on your data: perturbed reports, "
    "sensitivity, error hierarchy, benchmark, domain gap, ablation, variance, and examples.",
)
experiment_app.command()(perturb)
experiment_app.command()(pathgls)
experiment_app.command()(benchmark)
experiment_app.command()(gap)
experiment_app.command()(variance)

PERTURBED = "Perturbed reports, as written by `experiment perturb`."
PerturbedArgument = Annotated[Path, typer.Argument(metavar="PERTURBED", help=PERTURBED)]
ResultsArgument = Annotated[
    Path,
    typer.Argument(
        metavar="RESULTS",
        help="Folder of `experiment sensitivity`, or of `trust` on the perturbed reports.",
    ),
]


@dataclass(frozen=True)
class GradedOptions:
    """How results on perturbed reports are compared with the severity of the errors."""

    perturbed: Annotated[
        Path | None, option(f"{PERTURBED} Needed if RESULTS is of `trust`.", name="--perturbed")
    ] = None
    weights: Annotated[
        str | None, option("Weights of grounding, logic and stability; 0.4,0.3,0.3 when omitted.")
    ] = None
    figure: FigureOption = False
    resamples: ResamplesOption = RESAMPLES
    seed: SeedOption = 0

    def chosen_weights(self) -> DimensionWeights:
        """Those of --weights, or of the paper."""
        return PAPER if self.weights is None else weights_of(self.weights)


@experiment_app.command()
@verb
def sensitivity(
    perturbed: PerturbedArgument,
    output: Annotated[Path, option("Folder for scores and tables.")],
    metrics: Annotated[
        str, metric_option("Metrics to compare with, separated by commas.")
    ] = "bleu,bertscore,hare,concordance",
    images: Annotated[
        Path | None, option("Folder of the images; without it grounding is not measured.")
    ] = None,
    encoder: EncoderOption = None,
    text_encoder: Annotated[
        str | None,
        option(
            "Encoder of BERTScore: a folder or a hub name; that of the reader when omitted.", MODELS
        ),
    ] = None,
    nli: NliOption = None,
    reader: ReaderOption = None,
    aligner: AlignerOption = None,
    device: DeviceOption = None,
    mpp: Annotated[float | None, option("Microns per pixel of the images.")] = None,
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
) -> None:
    """Table 1: how far each measure falls on hallucinations and logic errors.

    Examples:
      histoeval experiment sensitivity perturbed.jsonl --output table1
    """
    models = Models(reader=reader, aligner=aligner, encoder=text_encoder, device=device)
    specs = [spec.strip() for spec in metrics.split(",") if spec.strip()]
    bench = open_bench(perturbed, specs, models, images, encoder, nli, mpp)
    with step_progress("measuring", len(read_perturbed(perturbed))) as report:
        rows = measure_file(
            perturbed, output, bench, overwrite=overwrite, watch=lambda done, *_: report(done)
        )
    drops = drops_of(rows, resamples, seed)
    about = {"signatures": bench.signatures, "lacking": bench.lacking}
    tables = [sensitivity_table(drops, bench.lacking)]
    notes = sensitivity_notes(drops, bench.lacking)
    print_experiment(output, "table1", tables, notes, drops, about)


@experiment_app.command()
@verb
def hierarchy(
    results: ResultsArgument, output: TableFolder, options: GradedOptions = GradedOptions()
) -> None:
    """Rank correlation of every measure, and of trust, with the severity of the error.

    Examples:
      histoeval experiment hierarchy table1 --output hierarchy --figure
    """
    weights = options.chosen_weights()
    graded = with_trust(read_graded(results, options.perturbed), weights)
    found = rank_levels(graded, options.resamples, options.seed)
    notes = footnotes((each.measure, each.spearman.reason) for each in found)
    tables, about = hierarchy_tables(found), {"weights": str(weights)}
    print_experiment(output, "hierarchy", tables, notes, found, about)
    if options.figure:
        from histoeval_research.view.figures import hierarchy_figure

        write_picture(output, "hierarchy", hierarchy_figure(found))


@experiment_app.command()
@verb
def ablation(
    results: ResultsArgument, output: TableFolder, options: GradedOptions = GradedOptions()
) -> None:
    """Figure 3b: what trust loses without each of its dimensions.

    Examples:
      histoeval experiment ablation table1 --output figure3b
    """
    weights = options.chosen_weights()
    graded = read_graded(results, options.perturbed)
    found = ablate_trust(graded, weights, options.resamples, options.seed)
    about = {"weights": str(weights)}
    print_experiment(output, "figure3b", [ablation_table(found)], [], [found], about)
    if options.figure:
        from histoeval_research.view.figures import ablation_figure

        write_picture(output, "figure3b", ablation_figure(found))


@experiment_app.command()
@verb
def page(
    perturbed: PerturbedArgument,
    results: ResultsArgument,
    output: Annotated[Path, option("HTML file to write.")],
    images: Annotated[Path | None, option("Folder of the images.")] = None,
    most: Annotated[int, option("Maximum number of reports on the page.", min=1)] = 12,
) -> None:
    """Table 4: a page of examples, with pictures, changes and the score of each measure.

    Examples:
      histoeval experiment page perturbed.jsonl table1 --output examples.html
    """
    rows = read_perturbed(perturbed)
    text = experiment_page(rows, read_scored(results), images=images, most=most)
    with writing_to(output):
        make_folder(output.parent)
        write_text(output, text)
    typer.echo(f"Written: {output}")
