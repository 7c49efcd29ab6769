"""The command `histoeval`: finds the verb, and turns failures into plain sentences."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from traceback import format_exc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from histoeval.console import guarded, visible
from histoeval.errors import TRACEBACK, HistoEvalError, MissingDependency, pip_install
from histoeval.version import __version__

# each verb with one sentence of help, by the panel of `--help`. A verb is imported when it is
# used, so that `--help` stays fast: from the module of its name in `histoeval.cli`, or that of
# `HOMES`. Entry points of the group `histoeval.verbs` add verbs, and take the place of those in
# `EXTENDED`.
PANELS: dict[str, dict[str, str]] = {
    "Start": {
        "demo": "Score the bundled examples and look at the page: the first minute.",
        "quickstart": "Write a folder with a table, settings and scripts.",
        "metrics": "List the metrics, what they need, and whether they run here.",
        "doctor": "Show what is installed and what is missing.",
        "cache": "Show or clear what is cached.",
    },
    "With a reference": {
        "score": "Score reports against references.",
        "explain": "Show why one pair has its score.",
        "judge": "Let language models score reports by a rubric.",
        "agree": "Measure how well metrics agree with experts.",
        "ablate": "Measure what the parts of a metric contribute.",
    },
    "Without a reference": {
        "trust": "Decide which reports can be trusted without a reference.",
        "generate": "Let a vision-language model write reports on images.",
        "extract": "Extract entities, assertions and relations from reports.",
        "entail": "Classify sentence pairs: entailment, neutral, contradiction.",
    },
    "With people": {
        "serve": "Look at runs and score reports in the browser (extra web).",
        "study": "Plan, watch and export a study in which experts score reports.",
        "challenge": "Set up a challenge, check files, and rank teams with intervals.",
    },
    "Runs and gates": {
        "report": "Make a page or a table of a finished run.",
        "compare": "Compare systems by the scores of one metric; fail if a new one is worse.",
        "runs": "List, show, compare and remove runs.",
        "log": "Log a finished run to MLflow, W&B or inspect_ai.",
    },
    "Research": {
        "evaluate": "Evaluate models on annotated data, and metrics on probes.",
        "experiment": "Repeat the PathGLS experiments on your data.",
        "train": "Train models from annotated reports (extra train).",
        "corpus": "Inspect, compare, split and convert annotated corpora.",
        "slide": "Inspect slides and images, and cut tiles.",
    },
}
VERBS = {name: text for verbs in PANELS.values() for name, text in verbs.items()}
HOMES = {"demo": "start", "quickstart": "start", "cache": "runs"}
PLUG_INS = ("ablate", "corpus", "experiment", "train")  # verbs that come with the research package
EXTENDED = ("evaluate",)  # verbs that the research package has more of


class LazyGroup(TyperGroup):
    """The verbs: listed by their names, imported when they are run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for panel, verbs in PANELS.items():
            for name, text in verbs.items():
                self.commands[name] = TyperCommand(name=name, help=text, rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb that is run; a name that is unknown suggests the nearest one."""
        if (verb := load_verb(args[0])) is not None:
            self.commands[args[0]] = verb
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with _visible_complaints():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with _visible_complaints():
            return super().invoke(ctx)


@contextmanager
def _visible_complaints() -> Iterator[None]:
    """Typer prints its complaints by a console of its own, so their text must be safe before."""
    try:
        yield
    except Exception as error:
        if hasattr(error, "format_message") and isinstance(getattr(error, "message", None), str):
            message = vars(error)["message"].removeprefix("Value error, ")
            vars(error)["message"] = visible(message)
        raise


def load_verb(name: str) -> Any:
    """Return the verb of this name as a command or group of Typer; None if there is none."""
    if name not in VERBS or name in (*PLUG_INS, *EXTENDED):
        plug_ins = entry_points(group="histoeval.verbs", name=name)
        if plug_ins:
            return _as_command(name, next(iter(plug_ins)).load())
    if name in PLUG_INS:
        raise MissingDependency(
            f"`histoeval {name}` comes with the research package: {pip_install('research')}"
        )
    if name not in VERBS:
        return None
    module = import_module(f"histoeval.cli.{HOMES.get(name, name)}")
    return _as_command(name, getattr(module, f"{name}_app", None) or getattr(module, name))


def _as_command(name: str, command: Any) -> Any:
    if isinstance(command, typer.Typer):
        return typer.main.get_group(command)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name)(command)
    return typer.main.get_command(single)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"histoeval {__version__}")
        raise typer.Exit


app = typer.Typer(
    cls=LazyGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="Examples:\n  histoeval demo\n  histoeval score pairs.csv\n  histoeval score --help",
    help="Tells whether a machine-written histopathology report is right, and why.",
)


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_print_version, is_eager=True, help="Print the version."
    ),
) -> None:
    pass


def main() -> None:
    """Run a verb; exit with 2 and a plain sentence when nothing could be done."""
    if sys.argv[1:2] in (["--install-completion"], ["--show-completion"]) and len(sys.argv) > 2:
        # Typer takes the shell that is named behind the option, and does not guess it
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    with guarded(), warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: typer.echo(f"histoeval: {message}", err=True)
        try:
            app()
        except HistoEvalError as error:
            typer.echo(f"histoeval: {error}", err=True)
            sys.exit(2)
        except Exception as error:  # noqa: BLE001 - the last resort
            if TRACEBACK in os.environ:
                typer.echo(format_exc(), err=True)
            typer.echo(
                f"histoeval: unexpected error: {type(error).__name__}: {error}. "
                f"Set {TRACEBACK}=1 for the traceback and please file a bug.",
                err=True,
            )
            sys.exit(2)


if __name__ == "__main__":
    main()
