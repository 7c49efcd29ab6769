"""`histoeval runs`: what was run before, by what, and what changed between two runs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.age import AgeOption, age_of
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.output import print_tables
from histoeval.errors import SettingError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import folder_kind
from histoeval.run.history.diff import diff_runs
from histoeval.run.history.retention import old_runs, remove_run
from histoeval.run.history.stored_runs import details_of, stored_run, stored_runs
from histoeval.view.terminal.runs import diff_tables, old_runs_table, run_tables, runs_table

runs_app = typer.Typer(no_args_is_help=True, help="List, show, compare and remove runs.")

RunPlace = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or the file that `extract` wrote.")
]
JsonOption = Annotated[bool, option("Print JSON.", name="--json")]
MOST = 20


@runs_app.command("list")
@verb
def list_runs(
    folder: Annotated[Path, typer.Argument(help="Folder to search, four levels deep.")] = Path(),
    as_json: JsonOption = False,
) -> None:
    """List the runs below a folder, finished or not, the newest first.

    Examples:
      histoeval runs list results
    """
    check_there(folder)
    found = [details_of(run) for run in stored_runs(folder.resolve())]
    if as_json:
        typer.echo(json.dumps([each.content() for each in found], indent=2, ensure_ascii=False))
    elif found:
        print_tables([runs_table(found)])
    else:
        kind = folder_kind(folder)
        is_else = "" if kind is None else f" {kind.told(folder)}."
        typer.echo(f"There are no runs in {folder}.{is_else}")


@runs_app.command()
@verb
def show(run: RunPlace, as_json: JsonOption = False) -> None:
    """Show one run: its means, signatures, settings, environment and commands.

    Examples:
      histoeval runs show results
    """
    found = details_of(stored_run(run))
    if as_json:
        typer.echo(json.dumps(found.content(), indent=2, ensure_ascii=False))
    else:
        print_tables(run_tables(found))


@runs_app.command()
@verb
def diff(
    one: RunPlace,
    other: RunPlace,
    show: Annotated[int, option("Number of scores to show.", min=0)] = MOST,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two runs: settings, versions, signatures, means, scores by id.

    Examples:
      histoeval runs diff results/monday results/tuesday
    """
    found = diff_runs(details_of(stored_run(one)), details_of(stored_run(other)))
    if as_json:
        typer.echo(json.dumps(found.content(), indent=2, ensure_ascii=False))
        return
    tables = [*diff_tables(found, str(one), str(other), show)]
    print_tables(tables)
    if not tables:
        typer.echo(f"No difference in settings, versions, or {found.compared:,} scores.")


@runs_app.command()
@verb
def clear(
    folder: Annotated[Path, typer.Argument(help="Folder to search, four levels deep.")],
    older_than: AgeOption = None,
    delete: Annotated[bool, option("Remove them; otherwise they are only listed.")] = False,
) -> None:
    """List the runs that are older than an age, and with --delete remove them.

    Only files that HistoEval writes are removed; whatever else lies beside them stays.

    Examples:
      histoeval runs clear results --older-than 90d
      histoeval runs clear results --older-than 90d --delete
    """
    check_there(folder)
    if older_than is None:
        raise SettingError("say how old runs must be: --older-than 90d (0d: all of them)")
    found = old_runs(folder, age_of(older_than))
    notes = [remove_run(each) if delete and each.files else each.kept for each in found]
    print_tables([old_runs_table(found, notes)])
    counted = [each for each in found if each.files and not (delete and each.files[0].exists())]
    files, size = sum(len(each.files) for each in counted), sum(each.size for each in counted)
    done = "removed" if delete else "would be removed; --delete removes them"
    typer.echo(f"{len(counted):,} runs, {files:,} files, {size:,} bytes: {done}")
