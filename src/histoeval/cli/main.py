"""The command `histoeval`: finds the verb and speaks to people when something is wrong."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

import typer

from histoeval.cli.ablate import ablate
from histoeval.cli.agree import agree
from histoeval.cli.compare import compare
from histoeval.cli.corpus import corpus_app
from histoeval.cli.doctor import doctor
from histoeval.cli.evaluate import evaluate_app
from histoeval.cli.explain import explain
from histoeval.cli.extract import extract
from histoeval.cli.judge import judge_app
from histoeval.cli.metrics import metrics
from histoeval.cli.score import score
from histoeval.cli.train import train_app
from histoeval.errors import HistoEvalError
from histoeval.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Tells whether a machine-written histopathology report is right, and why.",
)
app.command()(score)
app.command()(explain)
app.command()(extract)
app.command()(agree)
app.command()(compare)
app.command()(ablate)
app.command()(metrics)
app.command()(doctor)
app.add_typer(judge_app, name="judge")
app.add_typer(corpus_app, name="corpus")
app.add_typer(train_app, name="train")
app.add_typer(evaluate_app, name="evaluate")


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


TRACEBACK = "HISTOEVAL_TRACEBACK"
"""Set this in the environment to see where a failure that nobody foresaw came from."""


def _print_anything() -> None:
    """Have characters that the terminal or the file cannot take written out, not break the run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run a verb; exit 2 with a plain sentence when nothing could be done."""
    _print_anything()
    try:
        app()
    except HistoEvalError as error:
        typer.echo(f"histoeval: {error}", err=True)
        sys.exit(2)
    except Exception as error:
        if TRACEBACK in os.environ:
            raise
        typer.echo(
            f"histoeval: stopped by what nobody foresaw: {type(error).__name__}: {error}. "
            f"With {TRACEBACK}=1 in the environment it says where; please report that.",
            err=True,
        )
        sys.exit(2)


if __name__ == "__main__":
    main()
