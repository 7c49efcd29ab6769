"""`histoeval challenge`: set up a challenge, check a file, evaluate it, and rank all teams."""

import json
import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from histoeval.challenge.folder import IDS, init_challenge
from histoeval.challenge.policy import POLICY
from histoeval.challenge.rank import METRICS, SCORED, evaluate_predictions, rank_teams
from histoeval.challenge.teams import check_predictions
from histoeval.cli.output import print_lines, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.run.models import SCORING, Models
from histoeval.run.settings import EngineSettings
from histoeval.settings import Option
from histoeval.view.html.challenge import write_views
from histoeval.view.terminal.challenge import fault_table, ranking_tables

challenge_app = typer.Typer(
    no_args_is_help=True, help="Set up a challenge, check files, and rank teams with intervals."
)

MOST_TEAMS = 30

FolderArgument = Annotated[
    Path, typer.Argument(metavar="DIR", help="The folder that `challenge init` has written.")
]
LooseIds = Annotated[
    bool,
    Option(
        "Accept ids that differ only in ending, case, spaces or zeros, as a policy with "
        "`loose_ids: true` does."
    ),
]
TruthOption = Annotated[
    Path | None, Option("Truth that is not in DIR: a table of ids and reports, or its folder.")
]


@challenge_app.command()
@verb
def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to write.")],
    truth: Annotated[
        Path | None, Option('Table of ids and references, as in [{"id": …, "report": …}].')
    ] = None,
) -> None:
    """Write the folder of a challenge: policy, ids, read-me files and an evaluation container.

    Files that are there stay as they are, so the truth can be added later.

    Examples:
      histoeval challenge init challenge --truth truth.json
    """
    challenge = init_challenge(folder, truth)
    print_lines(
        *[f"Written: {file}" for file in challenge.written],
        *[f"Kept as it is: {file}" for file in challenge.kept],
        *challenge.notes,
        f"Next: edit {folder / POLICY}, publish it with {IDS} and PARTICIPANTS.md, and",
        f"  {shlex.join(['histoeval', 'challenge', 'check', str(folder)])} predictions.json",
    )


@challenge_app.command()
@verb
def check(
    folder: FolderArgument,
    predictions: Annotated[Path, typer.Argument(help="The file to hand in.")],
    loose_ids: LooseIds = False,
    look: Annotated[
        Literal["table", "markdown", "json"], Option("How to print faults.", name="--format")
    ] = "table",
) -> None:
    """Check a file of predictions before it is handed in; the truth is not needed.

    Exit code 0: every case has a usable report; 1: something is wrong, by id and reason; 2: the
    file cannot be read at all.

    Examples:
      histoeval challenge check challenge predictions.json
    """
    outcome = check_predictions(folder, predictions, loose_ids=loose_ids)
    if look == "json":
        typer.echo(json.dumps(outcome.model_dump(mode="json"), indent=1))
    else:
        if outcome.faults:
            table = fault_table(outcome.faults)
            print_tables([table], look)
            if len(table.rows) < len(outcome.faults):
                typer.echo("--format json lists every fault by its id")
        print_lines(*[f"{outcome.file}: {note}" for note in outcome.notes])
        if outcome.excluded is not None:
            typer.echo(f"This file would not be ranked: it {outcome.excluded}.")
        typer.echo(
            f"{outcome.file}: {outcome.usable:,} of {outcome.asked:,} cases have a usable report; "
            f"faults: {len(outcome.faults):,}."
        )
    raise typer.Exit(0 if outcome.is_complete else 1)


@challenge_app.command()
@verb
def evaluate(
    folder: FolderArgument,
    source: Annotated[
        Path, Option("A file, or a folder with predictions.json in it.", name="--input")
    ] = Path("/input"),
    output: Annotated[Path, Option(f"Folder for {METRICS}.")] = Path("/output"),
    truth: TruthOption = None,
    *,
    models: Annotated[Models, Option("", only=SCORING)],
    engine: EngineSettings,
) -> None:
    """Evaluate one file as the container does: aggregates, and a result for every case.

    Examples:
      histoeval challenge evaluate challenge --input input --output output
    """
    results = evaluate_predictions(
        folder, source, output=output, truth=truth, models=models, engine=engine.choose_engine()
    )
    totals = results["aggregates"]
    typer.echo(
        f"score {totals['score']['value']:.3f} on {totals['cases']:,} cases, "
        f"{totals['missing']:,} of them missing"
    )
    typer.echo(f"Written: {output / METRICS}")


@challenge_app.command()
@verb
def rank(
    folder: FolderArgument,
    teams: Annotated[
        list[Path],
        typer.Argument(metavar="TEAM.json", help="A file of each team, which is called like it."),
    ],
    output: Annotated[Path, Option("Folder for ranking and pages; a stopped run resumes there.")],
    truth: TruthOption = None,
    loose_ids: LooseIds = False,
    *,
    models: Annotated[Models, Option("", only=SCORING)],
    engine: EngineSettings,
) -> None:
    """Rank teams on the ids of the truth: intervals, significance, stability, subgroups, pages.

    Exit code 0: ranked, and every file is whole; 1: ranked, but files have faults or teams are out.

    Examples:
      histoeval challenge rank challenge team_a.json team_b.json --output ranking
    """
    with resumable(output, "finished scores are"):
        results = rank_teams(
            folder,
            list(teams),
            output=output,
            truth=truth,
            models=models,
            engine=engine.choose_engine(),
            loose_ids=loose_ids,
        )
    ranking = results.ranking
    print_tables(ranking_tables(ranking, MOST_TEAMS))
    files = (*results.write(output), *write_views(ranking, output))
    print_lines(
        *ranking.notes,
        *[f"Written: {file}" for file in files],
        f"Publish what you like of it, but not {output / SCORED}: it has texts of the truth.",
    )
    has_faults = any(team.faults for team in ranking.teams)
    raise typer.Exit(1 if has_faults or ranking.unranked else 0)
