"""`histoeval cache`: what is kept outside of results, and clearing it."""

from typing import Annotated

import typer

from histoeval.cli.options.age import AgeOption, age_of
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.endpoint import CacheOption
from histoeval.cli.options.output import print_tables
from histoeval.llm.cache import Cache, default_cache
from histoeval.run.history.stored_runs import journal
from histoeval.runtime.audit import audit_log
from histoeval.table import ResultTable
from histoeval.view.terminal.judge import cache_table
from histoeval.view.terminal.runs import time_text

cache_app = typer.Typer(no_args_is_help=True, help="Show or clear what is cached.")


@cache_app.command()
@verb
def show(cache: CacheOption = None) -> None:
    """Show cached replies by model and prompt, and the files that note what was sent and run.

    Readings of reports are cached in memory only.

    Examples:
      histoeval cache show
    """
    file = cache or default_cache()
    if file.exists():
        with Cache(file) as opened:
            print_tables([cache_table(opened.stats())])
    kept = {"replies": file, "what was sent": audit_log(), "commands": journal()}
    rows = [
        [what, str(path), f"{path.stat().st_size:,}", time_text(path.stat().st_mtime)]
        for what, path in kept.items()
        if path is not None and path.is_file()
    ]
    if rows:
        print_tables([ResultTable("Files", ["what", "file", "bytes", "changed"], rows)])
    else:
        typer.echo(f"Nothing is cached in {file.parent}.")


@cache_app.command()
@verb
def clear(
    cache: CacheOption = None,
    older_than: AgeOption = None,
    judge: Annotated[
        str | None, option("Only models whose name, model@endpoint, starts with this.")
    ] = None,
    prompt: Annotated[str | None, option("Only prompts whose name starts with this.")] = None,
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
