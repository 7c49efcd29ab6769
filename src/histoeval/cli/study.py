"""`histoeval study`: plan, watch and export a study in which experts score reports."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import LookOption, print_lines, print_tables
from histoeval.cli.verb import verb
from histoeval.settings import Option
from histoeval.table import ResultTable
from histoeval.view.terminal.agreement import interval, rater_tables
from histoeval.web.study.access import links_of
from histoeval.web.study.figures import SHEET, figures
from histoeval.web.study.figures import export as write_tables
from histoeval.web.study.plan import read_study, write_starter
from histoeval.web.study.store import ratings_of, spelt

study_app = typer.Typer(
    no_args_is_help=True, help="Plan, watch and export a study in which experts score reports."
)

StudyArgument = Annotated[Path, typer.Argument(metavar="STUDY.yaml", help="The plan of the study.")]


@study_app.command()
@verb
def init(
    pairs: Annotated[Path, typer.Argument(help="Table of references and candidates.")],
    rater: Annotated[list[str], Option("Name of a rater, as in anna; repeat it for each.")],
    output: Annotated[Path, Option("The plan to write.")] = Path("STUDY.yaml"),
    name: Annotated[str, Option("What raters read at the top of their pages.")] = "Reports",
    seed: Annotated[int, Option("Another one shuffles the pairs differently.", min=0)] = 1,
) -> None:
    """Write a first STUDY.yaml for a table of pairs.

    Examples:
      histoeval study init pairs.csv --rater anna --rater ben
    """
    study = write_starter(output, pairs, rater, name=name, seed=seed)
    typer.echo(f"Written: {output}, for {len(study.pairs):,} pairs. Next:")
    typer.echo(f"  histoeval serve --study {output}")


@study_app.command()
@verb
def links(
    plan: StudyArgument,
    address: Annotated[str, Option("Address at which raters reach it.")] = "http://127.0.0.1:8484",
) -> None:
    """Print the link of the coordinator and of each rater; they stay the same over restarts.

    Examples:
      histoeval study links STUDY.yaml --address http://pathology-7:8484
    """
    rater_links = links_of(read_study(plan), address.rstrip("/"))
    width = max(map(len, rater_links))
    print_lines(*[f"{rater:{width}}  {link}" for rater, link in rater_links.items()])


@study_app.command()
@verb
def status(plan: StudyArgument, look: LookOption = "table") -> None:
    """Show how far raters are, how well they agree, and where they differ most.

    Examples:
      histoeval study status STUDY.yaml
    """
    study = read_study(plan)
    state = figures(study, ratings_of(study), {})
    progress = ResultTable.of(
        "Progress",
        state.progress,
        {
            "rater": lambda rater: rater.rater,
            "scored": lambda rater: f"{rater.saved:,}",
            "pairs": lambda rater: f"{rater.pairs:,}",
            "begun": lambda rater: f"{rater.drafts:,}",
            "last saved (UTC)": lambda rater: rater.last[:16].replace("T", " "),
        },
    )
    criteria = ResultTable.of(
        "Criteria",
        state.criteria.items(),
        {
            "criterion": lambda criterion: spelt(criterion[0]),
            "Krippendorff's alpha (ordinal)": lambda criterion: interval(criterion[1]),
            "": lambda criterion: criterion[1].reason or "",
        },
    )
    apart = ResultTable.of(
        "Pairs on which raters differ most",
        state.apart,
        {
            "pair": lambda pair: pair.key[0],
            "system": lambda pair: pair.key[1],
            "difference": lambda pair: f"{pair.gap:g}",
            "scores": lambda pair: ", ".join(f"{k} {v:g}" for k, v in pair.scores.items()),
        },
    )
    print_tables([progress], look)
    if state.agreement is None:
        typer.echo("No pair has two ratings yet.")
    else:
        more = [table for table in (criteria, apart) if table.rows]
        print_tables([*rater_tables(state.agreement), *more], look)


@study_app.command()
@verb
def export(
    plan: StudyArgument,
    output: Annotated[
        Path | None, Option("Folder for the tables; by default `export` in the study's own.")
    ] = None,
) -> None:
    """Write the sheet that `histoeval agree` reads, every rating, and every error marked.

    Examples:
      histoeval study export STUDY.yaml --output export
    """
    study = read_study(plan)
    folder = study.folder / "export" if output is None else output
    print_lines(*[f"Written: {file}" for file in write_tables(study, ratings_of(study), folder)])
    lowest, highest = study.steps[0], study.steps[-1]
    scores = "" if study.file.run is None else f" --scores {study.file.run}"
    typer.echo(f"Next: histoeval agree {folder / SHEET} --scale {lowest:g},{highest:g}{scores}")
