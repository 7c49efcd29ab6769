"""`histoeval runs` and `histoeval cache`: what earlier commands have left."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import print_json, print_tables
from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import folder_kind
from histoeval.llm.access import CacheFile
from histoeval.llm.cache import Cache, default_cache
from histoeval.run import history
from histoeval.runtime.audit import audit_log
from histoeval.settings import Option
from histoeval.table import ResultTable
from histoeval.view.terminal import runs as terminal
from histoeval.view.terminal.judge import cache_table

runs_app = typer.Typer(no_args_is_help=True, help="List, show, compare and remove runs.")

RunPlace = Annotated[
    Path, typer.Argument(metavar="RUN", help="Folder of a run, or the file that `extract` wrote.")
]
JsonOption = Annotated[bool, Option("Print JSON.", name="--json")]
AgeOption = Annotated[
    str | None, Option("Only what is older than this, as in 12h, 30d or 8w.", name="--older-than")
]
UNITS = {"h": "hours", "d": "days", "w": "weeks"}
MOST = 20


def age_of(text: str | None) -> timedelta:
    """Parse a number of hours, days or weeks; None if nothing was given."""
    if text is None:
        return timedelta(0)
    match = re.fullmatch(r"(\d{1,5})\s*([hdw])", text.strip().lower(), re.ASCII)
    if match is None:
        raise SettingError(f"--older-than {text!r} is no age: write 12h, 30d or 8w")
    return timedelta(**{UNITS[match[2]]: int(match[1])})


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
    runs = [history.details_of(run) for run in history.stored_runs(folder.resolve())]
    if as_json:
        print_json([run.content() for run in runs])
    elif runs:
        print_tables([terminal.runs_table(runs)])
    else:
        kind = folder_kind(folder)
        kind_text = "" if kind is None else f" {kind.describe(folder)}."
        typer.echo(f"There are no runs in {folder}.{kind_text}")


@runs_app.command()
@verb
def show(run: RunPlace, as_json: JsonOption = False) -> None:
    """Show one run: its means, signatures, settings, environment and commands.

    Examples:
      histoeval runs show results
    """
    details = history.details_of(history.stored_run(run))
    if as_json:
        print_json(details.content())
    else:
        print_tables(terminal.run_tables(details))


@runs_app.command()
@verb
def diff(
    one: RunPlace,
    other: RunPlace,
    show: Annotated[int, Option("Number of scores to show.", min=0)] = MOST,
    as_json: JsonOption = False,
) -> None:
    """Show what differs between two runs: settings, versions, signatures, means, scores by id.

    Examples:
      histoeval runs diff results/monday results/tuesday
    """
    difference = history.diff_runs(
        history.details_of(history.stored_run(one)), history.details_of(history.stored_run(other))
    )
    if as_json:
        print_json(difference.content())
        return
    tables = [*terminal.diff_tables(difference, str(one), str(other), show)]
    print_tables(tables)
    if not tables:
        typer.echo(f"No difference in settings, versions, or {difference.compared:,} scores.")


@runs_app.command()
@verb
def clear(
    folder: Annotated[Path, typer.Argument(help="Folder to search, four levels deep.")],
    older_than: AgeOption = None,
    delete: Annotated[bool, Option("Remove them; otherwise they are only listed.")] = False,
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
    removables = history.old_runs(folder, age_of(older_than))
    notes = [
        history.remove_run(removable) if delete and removable.files else removable.kept
        for removable in removables
    ]
    print_tables([terminal.old_runs_table(removables, notes)])
    counted = [
        removable
        for removable in removables
        if removable.files and not (delete and removable.files[0].exists())
    ]
    files, size = (
        sum(len(removable.files) for removable in counted),
        sum(removable.size for removable in counted),
    )
    done = "removed" if delete else "would be removed; --delete removes them"
    typer.echo(f"{len(counted):,} runs, {files:,} files, {size:,} bytes: {done}")


cache_app = typer.Typer(no_args_is_help=True, help="Show or clear what is cached.")


@cache_app.command("show")
@verb
def show_cached(cache: CacheFile = None) -> None:
    """Show cached replies by model and prompt, and the files that note what was sent and run.

    Readings of reports are cached in memory only.

    Examples:
      histoeval cache show
    """
    file = cache or default_cache()
    if file.exists():
        with Cache(file) as opened:
            print_tables([cache_table(opened.stats())])
    files = {"replies": file, "what was sent": audit_log(), "commands": history.journal()}
    rows = [
        [kind, str(path), f"{path.stat().st_size:,}", terminal.time_text(path.stat().st_mtime)]
        for kind, path in files.items()
        if path is not None and path.is_file()
    ]
    if rows:
        print_tables([ResultTable("Files", ["what", "file", "bytes", "changed"], rows)])
    else:
        typer.echo(f"Nothing is cached in {file.parent}.")


@cache_app.command("clear")
@verb
def clear_cached(
    cache: CacheFile = None,
    older_than: AgeOption = None,
    judge: Annotated[str | None, Option("Models whose model@endpoint starts with this.")] = None,
    prompt: Annotated[str | None, Option("Only prompts whose name starts with this.")] = None,
) -> None:
    """Delete cached replies: all of them, or those that are old or of a model or prompt.

    What was noted of requests and commands is kept.

    Examples:
      histoeval cache clear --older-than 30d
    """
    file = cache or default_cache()
    age = age_of(older_than)
    if not file.exists():
        typer.echo(f"0 replies deleted: there is no {file}")
        return
    with Cache(file) as opened:
        typer.echo(f"{opened.clear(judge, prompt, age):,} replies deleted")
