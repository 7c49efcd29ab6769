"""`histoeval experiment pathgls`: tables 1 to 3 and figure 3 of the paper by one command."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.models import DeviceOption, EncoderOption, NliOption, ReaderOption
from histoeval.cli.options.output import OverwriteOption, resumable
from histoeval.errors import MissingDependency, SettingError
from histoeval.progress import step_progress
from histoeval.run.models import Models, load_reader
from histoeval.statistics.resampling import RESAMPLES
from histoeval.view.exports import write_picture
from histoeval_research.cli.experiment_options import ResamplesOption, SeedOption, print_experiment
from histoeval_research.experiments.benchmark import (
    JudgeVariation,
    gap_of,
    gaps,
    judge_variance,
    run_of,
)
from histoeval_research.experiments.benchmark import benchmark as compare_runs
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
from histoeval_research.view.experiment_tables import (
    ablation_beside,
    answer_notes,
    benchmark_beside,
    drops_beside,
    gaps_beside,
    judge_notes,
    ranks_beside,
    repeats_beside,
    table_notes,
)

WORK = "work"
REAL = "Results on real models, added to the tables"


@dataclass(frozen=True)
class RealResults:
    """Folders of other verbs whose results are added."""

    run: Annotated[
        list[str] | None,
        option(
            "Table 2: a results folder of `trust`; can be repeated.",
            REAL,
            metavar="DATASET/MODEL=FOLDER",
        ),
    ] = None
    gap: Annotated[
        list[str] | None,
        option(
            "Table 3: results folders of `trust` on known and on unseen data; can be repeated.",
            REAL,
            metavar="MODEL=PUBLIC,PRIVATE",
        ),
    ] = None
    judge: Annotated[
        list[Path] | None, option("Figure 3a: folder of `judge --repeats N`.", REAL)
    ] = None


@verb
def pathgls(
    output: Annotated[Path, option("Folder for tables, figure and scores; a stopped run resumes.")],
    reports: Annotated[
        Path | None, option("True reports: a table with id and report, maybe image and patient.")
    ] = None,
    images: Annotated[Path | None, option("Folder of the images that the reports name.")] = None,
    tiles: Annotated[
        Path | None,
        option("Folder with index.jsonl and tar files of tiles.", exists=True, file_okay=False),
    ] = None,
    public: Annotated[str, option("Split of the tiles that counts as known data.")] = "test",
    private: Annotated[str, option("Split of the tiles that counts as unseen data.")] = "external",
    sample: Annotated[int, option("Reports, and tiles of each split, to use.", min=1)] = 40,
    distance: Annotated[
        Literal["concordance", "nli", "embedding"], option("Distance between answers.")
    ] = "concordance",
    encoder: EncoderOption = None,
    nli: NliOption = None,
    reader: ReaderOption = None,
    device: DeviceOption = None,
    real: RealResults = RealResults(),
    resamples: ResamplesOption = RESAMPLES,
    seed: SeedOption = 0,
    overwrite: OverwriteOption = False,
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
