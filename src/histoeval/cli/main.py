"""The command `histoeval`: finds the verb and speaks to people when something is wrong."""

from __future__ import annotations

import sys

import typer

from histoeval.cli.doctor import doctor
from histoeval.cli.metrics import metrics
from histoeval.cli.score import score
from histoeval.errors import HistoEvalError
from histoeval.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tells whether a machine-written histopathology report is right, and why.",
)
app.command()(score)
app.command()(metrics)
app.command()(doctor)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"histoeval {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def main() -> None:
    """Run a verb; exit 2 with a plain sentence when nothing could be done."""
    try:
        app()
    except HistoEvalError as error:
        typer.echo(f"histoeval: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
