"""The command `histoeval`: finds the verb and speaks to people when something is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import Any

import typer

from histoeval.cli.ablate import ablate
from histoeval.cli.agree import agree
from histoeval.cli.compare import compare
from histoeval.cli.corpus import corpus_app
from histoeval.cli.doctor import doctor
from histoeval.cli.entail import entail
from histoeval.cli.evaluate.models import evaluate_app
from histoeval.cli.experiment.run import experiment_app
from histoeval.cli.explain import explain
from histoeval.cli.extract import extract
from histoeval.cli.generate import generate
from histoeval.cli.judge.run import judge_app
from histoeval.cli.metrics import metrics
from histoeval.cli.score import score
from histoeval.cli.slide import slide_app
from histoeval.cli.train import train_app
from histoeval.cli.trust.run import trust_app
from histoeval.errors import HistoEvalError
from histoeval.version import __version__

SETTINGS: dict[str, Any] = {
    "no_args_is_help": True,
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "help": "Tells whether a machine-written histopathology report is right, and why.",
}
app = typer.Typer(**SETTINGS)
app.command()(score)
app.command()(explain)
app.command()(extract)
app.command()(agree)
app.command()(compare)
app.command()(ablate)
app.command()(entail)
app.command()(generate)
app.command()(metrics)
app.command()(doctor)
app.add_typer(judge_app, name="judge")
app.add_typer(corpus_app, name="corpus")
app.add_typer(slide_app, name="slide")
app.add_typer(trust_app, name="trust")
app.add_typer(experiment_app, name="experiment")
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


def app_for(arguments: Sequence[str]) -> typer.Typer:
    """The command with the verb that is asked for, and of the others only what they are for.

    Taking in the options of all verbs takes longer than people want to wait for --help.
    """
    verb = next((word for word in arguments if not word.startswith("-")), None)
    light = typer.Typer(**SETTINGS)
    light.callback()(_options)
    for command in app.registered_commands:
        assert command.callback is not None, "every verb is a function"
        name = command.callback.__name__
        light.command(name)(command.callback if name == verb else _saying(command.callback.__doc__))
    for group in app.registered_groups:
        assert group.typer_instance is not None, "every group is a command of its own"
        if group.name == verb:
            light.add_typer(group.typer_instance, name=verb)
        else:
            light.command(group.name)(_saying(group.typer_instance.info.help))
    return light


def _saying(what: str | None) -> Callable[[], None]:
    """A verb that can only say what it is for."""

    def verb() -> None:
        pass

    verb.__doc__ = what
    return verb


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
        app_for(sys.argv[1:])()
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
