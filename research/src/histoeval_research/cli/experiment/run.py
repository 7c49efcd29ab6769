"""`histoeval experiment`: the experiments of the PathGLS paper, on your data."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.output import (
    exit_with,
    print_errors,
    resumable,
)
from histoeval.cli.verb import verb
from histoeval.errors import MissingDependency, SettingError
from histoeval.io.reports import open_reports
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.pathgls.policy.policy import PAPER, DimensionWeights, weights_of
from histoeval.progress import row_progress, step_progress
from histoeval.run.models import (
    AlignerName,
    DeviceName,
    EncoderName,
    Models,
    NliName,
    ReaderName,
    load_reader,
)
from histoeval.run.settings import Overwrite, TextColumn, metric_option
from histoeval.settings import COLUMNS, MODELS, Option
from histoeval.statistics.resampling import RESAMPLES
from histoeval.table import footnotes
from histoeval.view.exports import write_picture
from histoeval_research.cli.experiment_options import (
    EditingModel,
    FigureOption,
    ResamplesOption,
    SeedOption,
    TableFolder,
    print_experiment,
)
from histoeval_research.experiments.benchmark import (
    JudgeVariation,
    gap_of,
    gaps,
    judge_variance,
    run_of,
    trust_variance,
)
from histoeval_research.experiments.benchmark import benchmark as compare_runs
from histoeval_research.experiments.hierarchy import ablation as ablate_trust
from histoeval_research.experiments.hierarchy import hierarchy as rank_levels
from histoeval_research.experiments.hierarchy import read_graded, with_trust
from histoeval_research.experiments.measures import read_perturbed
from histoeval_research.experiments.pathgls.beside import (
    AblationBeside,
    figure_3b,
    ranks,
    table_1,
    table_2,
    table_3,
)
from histoeval_research.experiments.pathgls.cases import (
    CaseInstruments,
    CaseSet,
    MeasuredCases,
    edit_cases,
    measure_again,
    measure_cases,
    report_cases,
    splits_of,
    tile_cases,
)
from histoeval_research.experiments.perturb import Settings, perturb_file
from histoeval_research.experiments.sensitivity import measure_file, open_bench, read_scored
from histoeval_research.experiments.sensitivity import sensitivity as drops_of
from histoeval_research.view.experiment_tables import (
    ablation_beside,
    ablation_table,
    answer_notes,
    benchmark_beside,
    benchmark_notes,
    benchmark_table,
    drops_beside,
    experiment_page,
    gap_table,
    gaps_beside,
    hierarchy_tables,
    judge_notes,
    ranks_beside,
    repeats_beside,
    sensitivity_notes,
    sensitivity_table,
    table_notes,
    variance_table,
)


@verb
def perturb(
    captions: Annotated[
        Path,
        typer.Argument(
            metavar="CAPTIONS",
            help="True reports: a table with id and report, and optionally image.",
        ),
    ],
    output: Annotated[Path, Option("JSON lines file to write; a stopped run resumes there.")],
    seed: SeedOption = 0,
    each: Annotated[int, Option("Edits of every group for each report; 0 for all.", min=0)] = 1,
    group: Annotated[list[str] | None, Option("Only this group of edits; can be repeated.")] = None,
    answers: Annotated[
        bool,
        Option(
            "Use the true report as the model's answer under stain changes and attack, so "
            "that `trust` can measure stability: a model that errs in one answer only.",
            name="--answers",
        ),
    ] = False,
    text: TextColumn = None,
    id_: Annotated[str | None, Option("Column with the row id.", COLUMNS, name="--id")] = None,
    reader: ReaderName = None,
    editor: EditingModel = EditingModel(),
    overwrite: Overwrite = False,
) -> None:
    """Edit true reports: paraphrased, slightly wrong, hallucinated, illogical.

    By rules, and with --endpoint also by a language model. Exit code 0: every report was edited;
    1: some rows could not be used, and errors say why; 2: nothing could be done.

    Examples:
      histoeval experiment perturb captions.csv --output perturbed.jsonl
    """
    source = open_reports(captions, text=text, id_=id_)
    chosen = tuple(group) if group else None
    settings = Settings(seed=seed, each=each or None, groups=chosen, answers=answers)
    llm = editor.load()
    loaded = load_reader(Models(reader=reader))
    with resumable(output), row_progress(source, "editing") as watch:
        summary = perturb_file(
            source, loaded, output, settings, subject=llm, overwrite=overwrite, watch=watch
        )
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["groups"].items())
    typer.echo(f"{summary['reports']:,} reports: {counts}")
    for edit, reasons in summary["not_made"].items():
        typer.echo(f"{sum(reasons.values()):,} times no {edit}: {'; '.join(reasons)}", err=True)
    print_errors(summary)
    typer.echo(f"Written: {output}")
    if summary["rows_with_errors"]:
        exit_with(summary["reports"], summary["rows_with_errors"])


WORK = "work"
REAL = "Results on real models, added to the tables"


@dataclass(frozen=True)
class RealResults:
    """Folders of other verbs whose results are added."""

    run: Annotated[
        list[str] | None,
        Option(
            "Table 2: a results folder of `trust`; can be repeated.",
            REAL,
            metavar="DATASET/MODEL=FOLDER",
        ),
    ] = None
    gap: Annotated[
        list[str] | None,
        Option(
            "Table 3: results folders of `trust` on known and on unseen data; can be repeated.",
            REAL,
            metavar="MODEL=PUBLIC,PRIVATE",
        ),
    ] = None
    judge: Annotated[
        list[Path] | None, Option("Figure 3a: folder of `judge --repeats N`.", REAL)
    ] = None


@verb
def pathgls(
    output: Annotated[Path, Option("Folder for tables, figure and scores; a stopped run resumes.")],
    reports: Annotated[
        Path | None, Option("True reports: a table with id and report, maybe image and patient.")
    ] = None,
    images: Annotated[Path | None, Option("Folder of the images that the reports name.")] = None,
    tiles: Annotated[
        Path | None,
        Option("Folder with index.jsonl and tar files of tiles.", exists=True, file_okay=False),
    ] = None,
    public: Annotated[str, Option("Split of the tiles that counts as known data.")] = "test",
    private: Annotated[str, Option("Split of the tiles that counts as unseen data.")] = "external",
    sample: Annotated[int, Option("Reports, and tiles of each split, to use.", min=1)] = 40,
    distance: Annotated[
        Literal["concordance", "nli", "embedding"], Option("Distance between answers.")
    ] = "concordance",
    encoder: EncoderName = None,
    nli: NliName = None,
    reader: ReaderName = None,
    device: DeviceName = None,
    real: RealResults = RealResults(),
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    overwrite: Overwrite = False,
) -> None:
    """Tables 1, 2 and 3 and figure 3 of the PathGLS paper, its numbers beside yours.

    No vision-language model is asked: stand-ins say the true report or an edited one, and what
    they would answer under attack is an assumption that each table names. Add real models with
    --run, --gap and --judge.

    Examples:
      histoeval experiment pathgls --output out --reports r.csv --tiles tiles
    """
    if reports is None and tiles is None:
        raise SettingError("nothing to measure: give --reports, --tiles or both")
    loaded = Models(reader=load_reader(Models(reader=reader)), device=device)
    tools = CaseInstruments(loaded, encoder, nli, distance, seed=seed)
    with resumable(output):
        chosen: dict[str, CaseSet] = {}
        if reports is not None:
            work = output / WORK / "reports"
            chosen["reports"] = report_cases(reports, work, images, sample, seed)
            if bad := chosen["reports"].unusable:
                typer.echo(f"{bad:,} rows of {reports.name} hold no report", err=True)
        if tiles is not None:
            for split in _splits(tiles, public, private):
                work = output / WORK / f"tiles_{split}"
                chosen[split] = tile_cases(tiles, split, work, sample, seed)
        found = {
            name: _measured(cases, tools, overwrite=overwrite) for name, cases in chosen.items()
        }
        twice = public if public in chosen else next(iter(chosen))
        again = measure_again(chosen[twice], found[twice], tools, resamples, seed)
    sides = (found.get(public), found.get(private))
    _write(output, list(found.values()), sides, again, real, resamples, seed)


def _splits(tiles: Path, public: str, private: str) -> list[str]:
    there = splits_of(tiles)
    if public not in there:
        raise SettingError(f"{tiles} has no split {public}; it has: {', '.join(sorted(there))}")
    if private not in there:
        typer.echo(f"table 3 has no row of ours: the tiles have no split {private}", err=True)
    return [public, private] if private in there and private != public else [public]


def _measured(cases: CaseSet, tools: CaseInstruments, *, overwrite: bool) -> MeasuredCases:
    with step_progress(f"editing {cases.name}", cases.cases) as report:
        rows = edit_cases(cases, tools, report, overwrite=overwrite)
    with step_progress(f"measuring {cases.name}", len(rows)) as report:
        return measure_cases(cases, rows, tools, report, overwrite=overwrite)


def _write(
    output: Path,
    sets: Sequence[MeasuredCases],
    sides: tuple[MeasuredCases | None, MeasuredCases | None],
    again: JudgeVariation,
    real: RealResults,
    resamples: int,
    seed: int,
) -> None:
    """All tables and the figure."""
    draws = (resamples, seed)
    about = {each.name: {"signatures": each.signatures, "lacking": each.lacking} for each in sets}
    one = table_1(sets, *draws)
    print_experiment(output, "table1", [drops_beside(one)], table_notes("table1", sets), one, about)
    runs = compare_runs([run_of(text) for text in real.run or ()], *draws)
    two = table_2(sets, runs, *draws)
    print_experiment(output, "table2", [benchmark_beside(two)], table_notes("table2", ()), two, {})
    moved = gaps([gap_of(text) for text in real.gap or ()], *draws)
    three = table_3(*sides, moved, *draws)
    print_experiment(output, "table3", [gaps_beside(three)], table_notes("table3", ()), three, {})
    judges = [each for folder in real.judge or () for each in judge_variance(folder, *draws)]
    repeats, bars, levels = [again, *judges], figure_3b(sets, *draws), ranks(sets, *draws)
    notes = table_notes("figure3a", ())
    print_experiment(output, "figure3a", [repeats_beside(repeats)], notes, repeats, {})
    notes = [*table_notes("figure3b", ()), *answer_notes()]
    print_experiment(output, "figure3b", [ablation_beside(bars)], notes, bars, {})
    print_experiment(output, "hierarchy", [ranks_beside(levels)], judge_notes(), levels, {})
    _draw(output, repeats, bars)


def _draw(output: Path, repeats: list[JudgeVariation], bars: list[AblationBeside]) -> None:
    """Figure 3, where matplotlib is installed."""
    try:
        from histoeval_research.view.figures import figure_3
    except MissingDependency as error:
        typer.echo(f"figure 3 is not drawn: {error}", err=True)
        return
    paths = write_picture(output, "figure3", figure_3(repeats, bars))
    typer.echo(f"Written: {', '.join(map(str, paths))}")


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
        list[Path] | None, Option("Folder of `judge --repeats N`; can be repeated.")
    ] = None,
    trust: Annotated[
        list[Path] | None, Option("Folder of `trust`; give two or more runs on the same reports.")
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
        Path | None, Option(f"{PERTURBED} Needed if RESULTS is of `trust`.", name="--perturbed")
    ] = None
    weights: Annotated[
        str | None, Option("Weights of grounding, logic and stability; 0.4,0.3,0.3 when omitted.")
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
    output: Annotated[Path, Option("Folder for scores and tables.")],
    metrics: Annotated[
        str, metric_option("Metrics to compare with, separated by commas.")
    ] = "bleu,bertscore,hare,concordance",
    images: Annotated[
        Path | None, Option("Folder of the images; without it grounding is not measured.")
    ] = None,
    encoder: EncoderName = None,
    text_encoder: Annotated[
        str | None,
        Option(
            "Encoder of BERTScore: a folder or a hub name; that of the reader when omitted.", MODELS
        ),
    ] = None,
    nli: NliName = None,
    reader: ReaderName = None,
    aligner: AlignerName = None,
    device: DeviceName = None,
    mpp: Annotated[float | None, Option("Microns per pixel of the images.")] = None,
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    overwrite: Overwrite = False,
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
    output: Annotated[Path, Option("HTML file to write.")],
    images: Annotated[Path | None, Option("Folder of the images.")] = None,
    most: Annotated[int, Option("Maximum number of reports on the page.", min=1)] = 12,
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
