"""`histoeval experiment`: the experiments of the PathGLS paper, on your data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.output import exit_with, print_errors, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.errors import MissingDependency, SettingError
from histoeval.io.reports import open_reports
from histoeval.io.writing import make_folder, write_text, writing_to
from histoeval.llm.access import VlmAccess
from histoeval.pathgls.policy.policy import PAPER, DimensionWeights, weights_of
from histoeval.progress import row_progress, step_progress
from histoeval.run.models import EncoderName, Models, ReaderName, load_reader
from histoeval.run.settings import Overwrite, TextColumn, metric_option
from histoeval.settings import COLUMNS, MODELS, Argument, Option, single_line_validation_errors
from histoeval.table import ResultTable, footnotes
from histoeval.view.exports import write_picture
from histoeval.vlm.load import load_vlm
from histoeval.vlm.model import VlmConfig
from histoeval_research.experiments import pathgls as recipe
from histoeval_research.experiments import tables
from histoeval_research.experiments.measures import (
    METRICS,
    measure_file,
    open_measures,
    read_scored,
    score_frame,
)
from histoeval_research.experiments.pathgls import (
    CaseBench,
    CaseSet,
    MeasuredCases,
    paper,
    read_index,
    report_cases,
    tile_cases,
)
from histoeval_research.experiments.perturb import PerturbSettings, perturb_file, read_perturbed
from histoeval_research.experiments.tables import Draws, Row
from histoeval_research.view.experiment_tables import (
    ablation_table,
    benchmark_notes,
    experiment_page,
    hierarchy_tables,
    sensitivity_notes,
    sensitivity_table,
    table_notes,
    table_of,
    write_tables,
)

experiment_app = typer.Typer(
    no_args_is_help=True,
    help="Repeat the experiments of the PathGLS paper on your data: perturbed reports, "
    "sensitivity, error hierarchy, benchmark, domain gap, ablation, variance, and examples.",
)

LLM = "Language model that also edits reports"
REAL = "Results on real models, added to the tables"
PERTURBED = "Perturbed reports, as written by `experiment perturb`."

PerturbedFile = Annotated[Path, Argument(PERTURBED, metavar="PERTURBED")]
Results = Annotated[
    Path,
    Argument(
        "Folder of `experiment sensitivity`, or of `trust` on the perturbed reports.",
        metavar="RESULTS",
    ),
]
Figure = Annotated[bool, Option("Also draw it as SVG and PNG (extra figures).", name="--figure")]


@dataclass(frozen=True)
class TableOutput:
    """Where a table goes, and how its intervals are drawn."""

    output: Annotated[Path, Option("Folder for the table.")]
    draws: Draws = Draws()

    def write(
        self,
        name: str,
        shown: Sequence[ResultTable],
        rows: Sequence[Row],
        notes: Sequence[str] = (),
        about: Mapping[str, Any] | None = None,
    ) -> None:
        paths = write_tables(self.output, name, shown, notes, rows, about or {})
        print_tables(shown)
        for note in notes:
            typer.echo(note, err=True)
        typer.echo(f"Written: {', '.join(str(path) for path in paths)}")


@dataclass(frozen=True)
class GradedOptions:
    """How results on perturbed reports are compared with the severity of the errors."""

    perturbed: Annotated[
        Path | None, Option(f"{PERTURBED} Needed if RESULTS is of `trust`.", name="--perturbed")
    ] = None
    weights: Annotated[
        DimensionWeights | None,
        Option(
            "Weights of grounding, logic and stability; 0.4,0.3,0.3 when omitted.",
            shell=str | None,
            read=weights_of,
        ),
    ] = None
    figure: Figure = False


@experiment_app.command()
@verb
def perturb(
    captions: Annotated[
        Path,
        Argument(
            "True reports: a table with id and report, and optionally image.", metavar="CAPTIONS"
        ),
    ],
    output: Annotated[Path, Option("JSON lines file to write; a stopped run resumes there.")],
    settings: PerturbSettings,
    text: TextColumn = None,
    id_: Annotated[str | None, Option("Column with the row id.", COLUMNS, name="--id")] = None,
    reader: ReaderName = None,
    endpoint: Annotated[
        str | None, Option("URL of an OpenAI-compatible server, ending in /v1.", LLM)
    ] = None,
    model: Annotated[str | None, Option("Name of the model.", LLM)] = None,
    access: VlmAccess = VlmAccess(),
    overwrite: Overwrite = False,
) -> None:
    """Edit true reports: paraphrased, slightly wrong, hallucinated, illogical.

    By rules, and with --endpoint also by a language model. Exit code 0: every report was edited;
    1: some rows could not be used, and errors say why; 2: nothing could be done.

    Examples:
      histoeval experiment perturb captions.csv --output perturbed.jsonl
    """
    source = open_reports(captions, text=text, id_=id_)
    subject = None
    if endpoint is not None and model is not None:
        with single_line_validation_errors():
            subject = load_vlm(VlmConfig(endpoint=endpoint, model=model, **access.accesses(1)[0]))
    elif endpoint is not None or model is not None:
        raise SettingError("a language model needs both --endpoint and --model")
    loaded = load_reader(Models(reader=reader))
    with resumable(output), row_progress(source, "editing") as watch:
        summary = perturb_file(
            source, loaded, output, settings, subject=subject, overwrite=overwrite, watch=watch
        )
    counts = ", ".join(f"{count:,} {name}" for name, count in summary["groups"].items())
    typer.echo(f"{summary['reports']:,} reports: {counts}")
    for edit, reasons in summary["not_made"].items():
        typer.echo(f"{sum(reasons.values()):,} times no {edit}: {'; '.join(reasons)}", err=True)
    print_errors(summary)
    typer.echo(f"Written: {output}")
    if summary["rows_with_errors"]:
        exit_with(summary["reports"], summary["rows_with_errors"])


@experiment_app.command()
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
    models: Annotated[Models, Option("", only="nli reader device")] = Models(),
    run: Annotated[
        list[str] | None,
        Option(
            "Table 2: a results folder of `trust`; can be repeated.",
            REAL,
            metavar="DATASET/MODEL=FOLDER",
        ),
    ] = None,
    gap: Annotated[
        list[str] | None,
        Option(
            "Table 3: results folders of `trust` on known and on unseen data; can be repeated.",
            REAL,
            metavar="MODEL=PUBLIC,PRIVATE",
        ),
    ] = None,
    judge: Annotated[
        list[Path] | None, Option("Figure 3a: folder of `judge --repeats N`.", REAL)
    ] = None,
    draws: Draws = Draws(),
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
    runs, gaps = tables.benchmark(run or (), draws), tables.gaps(gap or (), draws)
    judges = [row for folder in judge or () for row in tables.judge_variance(folder, draws)]
    models = models.model_copy(update={"reader": load_reader(models)})
    bench = CaseBench(models, encoder, distance, draws.seed, overwrite)
    work, cases = output / "work", dict[str, CaseSet]()
    measured: dict[str, MeasuredCases] = {}
    with resumable(output):
        if reports is not None:
            own = report_cases(reports, work / "reports", images, sample, draws.seed)
            cases["reports"] = own
            if own.unusable:
                typer.echo(f"{own.unusable:,} rows of {reports.name} hold no report", err=True)
        if tiles is not None:
            for split in _splits(tiles, public, private):
                folder = work / f"tiles_{split}"
                cases[split] = tile_cases(tiles, split, folder, sample, draws.seed)
        for name, own in cases.items():
            with step_progress(f"editing {own.name}", own.cases) as report:
                perturbed = bench.edit(own, report)
            with step_progress(f"measuring {own.name}", len(perturbed.reports)) as report:
                measured[name] = bench.measure(own, perturbed, report)
        twice = public if public in cases else next(iter(cases))
        again = bench.measure_again(cases[twice], measured[twice].scores, draws)

    sets, table = list(measured.values()), TableOutput(output, draws)
    about = {own.name: {"signatures": own.signatures, "lacking": own.lacking} for own in sets}
    drops = recipe.table_1(sets, draws)
    table.write("table1", [table_of("table1", drops)], drops, table_notes("table1", sets), about)
    means = recipe.table_2(sets, runs, draws)
    table.write("table2", [table_of("table2", means)], means, table_notes("table2"))
    gaps = recipe.table_3(measured.get(public), measured.get(private), gaps, draws)
    table.write("table3", [table_of("table3", gaps)], gaps, table_notes("table3"))
    repeats, spread = [again, *judges], paper()["figure3"]["spread"]
    shown = [{**row, "paper": spread if row["name"] == "PathGLS" else None} for row in repeats]
    table.write("figure3a", [table_of("figure3a", shown)], repeats, table_notes("figure3a"))
    bars = recipe.figure_3b(sets, draws)
    shown = [
        {**bar, "named": f"without {bar['without']}" if bar["without"] else bar["trust"]}
        for bar in bars
    ]
    notes = [f"Answers under attack, {row['name']}: {row['about']}." for row in paper()["answers"]]
    notes = [*table_notes("figure3b"), *notes]
    table.write("figure3b", [table_of("figure3b", shown)], bars, notes)
    ranks, rho = recipe.ranks(sets, draws), paper()["figure3"]["judge"]
    note = f"The paper's best judge, Gemini 3.0 Pro, has a coefficient of {rho:g}."
    table.write("hierarchy", [table_of("ranks", ranks)], ranks, [note])
    try:
        from histoeval_research.view.figures import figure_3
    except MissingDependency as error:
        typer.echo(f"figure 3 is not drawn: {error}", err=True)
        return
    paths = write_picture(output, "figure3", figure_3(repeats, bars))
    typer.echo(f"Written: {', '.join(map(str, paths))}")


def _splits(tiles: Path, public: str, private: str) -> list[str]:
    known = {tile.split for tile in read_index(tiles)}
    if public not in known:
        raise SettingError(f"{tiles} has no split {public}; it has: {', '.join(sorted(known))}")
    if private not in known:
        typer.echo(f"table 3 has no row of ours: the tiles have no split {private}", err=True)
    return [public, private] if private in known and private != public else [public]


@experiment_app.command()
@verb
def benchmark(
    runs: Annotated[
        list[str],
        Argument(
            "A results folder of `trust` for each model and data set.",
            metavar="DATASET/MODEL=FOLDER",
        ),
    ],
    table: TableOutput,
) -> None:
    """Table 2: grounding, logic, stability and trust of several models on several data sets.

    Examples:
      histoeval experiment benchmark tcga/a=trust_a tcga/b=trust_b --output table2
    """
    rows = tables.benchmark(runs, table.draws)
    table.write("table2", [table_of("benchmark", rows)], rows, benchmark_notes(rows))


@experiment_app.command()
@verb
def gap(
    models: Annotated[
        list[str],
        Argument(
            "For each model its results folders of `trust` on known and on unseen data.",
            metavar="MODEL=PUBLIC,PRIVATE",
        ),
    ],
    table: TableOutput,
) -> None:
    """Table 3: how much trust each model loses on unseen data.

    Examples:
      histoeval experiment gap model=trust_public,trust_private --output table3
    """
    rows = tables.gaps(models, table.draws)
    notes = footnotes((f"{row['model']}, {row['measure']}", row["drop"].reason) for row in rows)
    table.write("table3", [table_of("gap", rows)], rows, notes)


@experiment_app.command()
@verb
def variance(
    table: TableOutput,
    judge: Annotated[
        list[Path] | None, Option("Folder of `judge --repeats N`; can be repeated.")
    ] = None,
    trust: Annotated[
        list[Path] | None, Option("Folder of `trust`; give two or more runs on the same reports.")
    ] = None,
    figure: Figure = False,
) -> None:
    """Figure 3a: how much judges, and PathGLS, vary when they are run again.

    Examples:
      histoeval experiment variance --judge judged --output figure3a
    """
    if not judge and not trust:
        raise SettingError("nothing to compare: give --judge or --trust folders")
    rows = [row for folder in judge or () for row in tables.judge_variance(folder, table.draws)]
    if trust:
        rows.append(tables.trust_variance(trust, table.draws))
    table.write("figure3a", [table_of("variance", rows)], rows)
    if figure:
        from histoeval_research.view.figures import variance_figure

        write_picture(table.output, "figure3a", variance_figure(rows))


@experiment_app.command()
@verb
def sensitivity(
    perturbed: PerturbedFile,
    output: Annotated[Path, Option("Folder for scores and tables.")],
    metrics: Annotated[
        str, metric_option("Metrics to compare with, separated by commas.")
    ] = ",".join(METRICS),
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
    models: Annotated[Models, Option("", only="nli reader aligner device")] = Models(),
    mpp: Annotated[float | None, Option("Microns per pixel of the images.")] = None,
    draws: Draws = Draws(),
    overwrite: Overwrite = False,
) -> None:
    """Table 1: how far each measure falls on hallucinations and logic errors.

    Examples:
      histoeval experiment sensitivity perturbed.jsonl --output table1
    """
    models = models.model_copy(update={"encoder": text_encoder})
    specs = [spec.strip() for spec in metrics.split(",") if spec.strip()]
    reports = read_perturbed(perturbed)
    bench = open_measures(reports, specs, models, images=images, encoder=encoder, mpp=mpp)
    with step_progress("measuring", len(reports.reports)) as report:
        scored = measure_file(
            reports, output, bench, overwrite=overwrite, watch=lambda done, *_: report(done)
        )
    rows = tables.sensitivity(score_frame(scored), draws)
    shown, notes = sensitivity_table(rows, bench.lacking), sensitivity_notes(rows, bench.lacking)
    about = {"signatures": bench.signatures, "lacking": bench.lacking}
    TableOutput(output).write("table1", [shown], rows, notes, about)


@experiment_app.command()
@verb
def hierarchy(
    results: Results, table: TableOutput, graded: GradedOptions = GradedOptions()
) -> None:
    """Rank correlation of every measure, and of trust, with the severity of the error.

    Examples:
      histoeval experiment hierarchy table1 --output hierarchy --figure
    """
    weights = graded.weights or PAPER
    scores = tables.with_trust(tables.read_graded(results, graded.perturbed), weights)
    rows = tables.hierarchy(scores, table.draws)
    notes = footnotes((row["measure"], row["spearman"].reason) for row in rows)
    table.write("hierarchy", hierarchy_tables(rows), rows, notes, {"weights": str(weights)})
    if graded.figure:
        from histoeval_research.view.figures import hierarchy_figure

        write_picture(table.output, "hierarchy", hierarchy_figure(rows))


@experiment_app.command()
@verb
def ablation(results: Results, table: TableOutput, graded: GradedOptions = GradedOptions()) -> None:
    """Figure 3b: what trust loses without each of its dimensions.

    Examples:
      histoeval experiment ablation table1 --output figure3b
    """
    weights = graded.weights or PAPER
    scores = tables.read_graded(results, graded.perturbed)
    found = tables.ablation(scores, weights, table.draws)
    table.write("figure3b", [ablation_table(found)], [found], (), {"weights": str(weights)})
    if graded.figure:
        from histoeval_research.view.figures import ablation_figure

        write_picture(table.output, "figure3b", ablation_figure(found))


@experiment_app.command()
@verb
def page(
    perturbed: PerturbedFile,
    results: Results,
    output: Annotated[Path, Option("HTML file to write.")],
    images: Annotated[Path | None, Option("Folder of the images.")] = None,
    most: Annotated[int, Option("Maximum number of reports on the page.", min=1)] = 12,
) -> None:
    """Table 4: a page of examples, with pictures, changes and the score of each measure.

    Examples:
      histoeval experiment page perturbed.jsonl table1 --output examples.html
    """
    reports = read_perturbed(perturbed).reports
    text = experiment_page(reports, read_scored(results), images=images, most=most)
    with writing_to(output):
        make_folder(output.parent)
        write_text(output, text)
    typer.echo(f"Written: {output}")
