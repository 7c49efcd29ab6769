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
    found = links_of(read_study(plan), address.rstrip("/"))
    width = max(map(len, found))
    print_lines(*[f"{who:{width}}  {link}" for who, link in found.items()])


@study_app.command()
@verb
def status(plan: StudyArgument, look: LookOption = "table") -> None:
    """Show how far raters are, how well they agree, and where they differ most.

    Examples:
      histoeval study status STUDY.yaml
    """
    study = read_study(plan)
    found = figures(study, ratings_of(study), {})
    progress = ResultTable.of(
        "Progress",
        found.progress,
        {
            "rater": lambda each: each.rater,
            "scored": lambda each: f"{each.saved:,}",
            "pairs": lambda each: f"{each.pairs:,}",
            "begun": lambda each: f"{each.drafts:,}",
            "last saved (UTC)": lambda each: each.last[:16].replace("T", " "),
        },
    )
    criteria = ResultTable.of(
        "Criteria",
        found.criteria.items(),
        {
            "criterion": lambda each: spelt(each[0]),
            "Krippendorff's alpha (ordinal)": lambda each: interval(each[1]),
            "": lambda each: each[1].reason or "",
        },
    )
    apart = ResultTable.of(
        "Pairs on which raters differ most",
        found.apart,
        {
            "pair": lambda each: each.key[0],
            "system": lambda each: each.key[1],
            "difference": lambda each: f"{each.gap:g}",
            "scores": lambda each: ", ".join(f"{k} {v:g}" for k, v in each.scores.items()),
        },
    )
    print_tables([progress], look)
    if found.agreement is None:
        typer.echo("No pair has two ratings yet.")
    else:
        more = [table for table in (criteria, apart) if table.rows]
        print_tables([*rater_tables(found.agreement), *more], look)


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
    low, high = study.steps[0], study.steps[-1]
    scores = "" if study.file.run is None else f" --scores {study.file.run}"
    typer.echo(f"Next: histoeval agree {folder / SHEET} --scale {low:g},{high:g}{scores}")
