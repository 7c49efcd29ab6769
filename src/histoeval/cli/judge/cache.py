"""`histoeval judge cache`: replies that are kept, so that nothing is paid for twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.options.endpoint import CacheOption
from histoeval.cli.options.files import demand_folder, write_lines

if TYPE_CHECKING:
    from histoeval.llm.cache import Cache

cache_app = typer.Typer(
    no_args_is_help=True, help="List, clear or export the replies that are kept."
)


@cache_app.command("list")
def list_kept(cache: CacheOption = None) -> None:
    """Tell how many replies are kept, by judge and prompt."""
    from rich.console import Console

    from histoeval.view.terminal.judge import cache_table

    with _opened(cache) as file:
        Console().print(cache_table(file.stats()))
        typer.echo(f"in {file.path}")


@cache_app.command()
def clear(
    cache: CacheOption = None,
    judge: Annotated[
        str | None, typer.Option(help="Only of judges whose name, model@endpoint, begins so.")
    ] = None,
    prompt: Annotated[
        str | None, typer.Option(help="Only of prompts whose name begins so.")
    ] = None,
) -> None:
    """Forget replies: all of them, or those of a judge or a prompt."""
    with _opened(cache) as file:
        typer.echo(f"{file.clear(judge, prompt):,} replies forgotten")


@cache_app.command()
def export(
    output: Annotated[Path, typer.Argument(help="JSON lines file.", show_default=False)],
    cache: CacheOption = None,
) -> None:
    """Write all replies to a file, one per line; replies may quote reports."""
    demand_folder(output)
    with _opened(cache) as file:
        write_lines(output, file.export())


def _opened(path: Path | None) -> Cache:
    from histoeval.llm.cache import Cache, default_cache

    return Cache(path or default_cache())
