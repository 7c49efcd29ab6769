"""Output of verbs: files that are whole or absent, tables, errors, exit codes."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

import typer

from histoeval.console import Console
from histoeval.errors import OutputError
from histoeval.io.writing import whole_file
from histoeval.settings import Option
from histoeval.table import markdown
from histoeval.version import __version__

LookOption = Annotated[
    Literal["table", "markdown"], Option("How to print the tables.", name="--format")
]
ResultsFile = Annotated[Path | None, Option("JSON file for all results.")]


def demand_folder(file: Path | None) -> None:
    if file is not None and (file.is_dir() or not file.parent.is_dir()):
        raise OutputError(f"{file} cannot be written: it is a folder, or its folder does not exist")


def write_lines(file: Path, lines: Iterable[str], *, quiet: bool = False) -> None:
    try:
        with whole_file(file) as stream:
            stream.writelines(f"{line}\n".encode("utf-8", "backslashreplace") for line in lines)
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror or error}") from error
    typer.echo(f"Written: {file}", err=quiet)


def write_results(output: Path | None, head: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    """Write results as JSON after a head on the measurement; without a file, do nothing."""
    if output is not None:
        content = {**head, "histoeval": __version__, **results}
        write_lines(output, [json.dumps(content, indent=2, ensure_ascii=False)])


def print_tables(tables: Iterable[Any], look: str = "table") -> None:
    console = Console()
    for table in tables:
        if table is None:
            continue
        if look == "markdown":
            typer.echo(f"{markdown(table)}\n")
        else:
            console.print(table)


def print_json(content: Any) -> None:
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def print_lines(*lines: str, err: bool = False) -> None:
    for line in lines:
        typer.echo(line, err=err)


def print_errors(summary: Mapping[str, Any]) -> None:
    """Print each kind of error with its count and an example."""
    for code, error in summary["errors"].items():
        typer.echo(f"{error['count']:,} times {code}: {error['example']}", err=True)


@contextmanager
def resumable(output: Path | str | None, what: str = "finished rows are") -> Iterator[None]:
    """On Ctrl-C, tell where results are kept and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        notice = (
            f"{what} kept in {output}: the same command resumes there"
            if output is not None
            else "nothing was kept, since no --output was given"
        )
        typer.echo(f"stopped; {notice}", err=True)
        raise typer.Exit(130) from None


def say_next(why: str, *words: object) -> None:
    typer.echo(f"{why}: {shlex.join(['histoeval', *map(str, words)])}")


def exit_with(done: int, failed: int) -> NoReturn:
    """Exit with 0 if all is done, 1 if some rows failed, 2 if nothing was done."""
    raise typer.Exit(2 if not done else 1 if failed else 0)
