"""`histoeval judge cache`: cached replies, so that nothing is paid for twice."""

from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.endpoint import CacheOption
from histoeval.cli.options.output import demand_folder, print_tables, write_lines
from histoeval.llm.cache import Cache, default_cache
from histoeval.view.terminal.judge import cache_table

cache_app = typer.Typer(no_args_is_help=True, help="List, clear or export cached replies.")


@cache_app.command("list")
@verb
def list_cached(cache: CacheOption = None) -> None:
    """Count the cached replies by judge and prompt.

    Examples:
      histoeval judge cache list
    """
    with Cache(cache or default_cache()) as file:
        print_tables([cache_table(file.stats())])
        typer.echo(f"in {file.path}")


@cache_app.command()
@verb
def clear(
    cache: CacheOption = None,
    judge: Annotated[
        str | None, option("Only judges whose name, model@endpoint, starts with this.")
    ] = None,
    prompt: Annotated[str | None, option("Only prompts whose name starts with this.")] = None,
) -> None:
    """Delete cached replies: all of them, or those of a judge or a prompt.

    Examples:
      histoeval judge cache clear --prompt rubric4
    """
    with Cache(cache or default_cache()) as file:
        typer.echo(f"{file.clear(judge, prompt):,} replies deleted")


@cache_app.command()
@verb
def export(
    output: Annotated[Path, typer.Argument(help="JSON lines file to write.")],
    cache: CacheOption = None,
) -> None:
    """Write all replies to a file, one per line; replies may quote reports.

    Examples:
      histoeval judge cache export replies.jsonl
    """
    demand_folder(output)
    with Cache(cache or default_cache()) as file:
        write_lines(output, file.export())
