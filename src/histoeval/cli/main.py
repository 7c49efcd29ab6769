"""The command `histoeval`: finds the verb, and turns failures into plain sentences."""

import os
import sys
import warnings
from collections.abc import Iterator, Sequence
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

PLUG_IN = ""
"""In the place of a module: the verb comes with another distribution."""

PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Start": {
        "demo": (
            "start:demo",
            "Score the bundled examples and look at the page: the first minute.",
        ),
        "quickstart": (
            "start:quickstart",
            "Write a folder with a table, settings and scripts.",
        ),
        "metrics": (
            "metrics:metrics",
            "List the metrics, what they need, and whether they run here.",
        ),
        "doctor": ("doctor:doctor", "Show what is installed and what is missing."),
        "cache": ("runs:cache_app", "Show or clear what is cached."),
    },
    "With a reference": {
        "score": ("score:score", "Score reports against references."),
        "explain": ("explain:explain", "Show why one pair has its score."),
        "judge": ("judge:judge_app", "Let language models score reports by a rubric."),
        "agree": ("agree:agree", "Measure how well metrics agree with experts."),
        "ablate": (PLUG_IN, "Measure what the parts of a metric contribute."),
    },
    "Without a reference": {
        "trust": (
            "trust:trust_app",
            "Decide which reports can be trusted without a reference.",
        ),
        "generate": (
            "generate:generate",
            "Let a vision-language model write reports on images.",
        ),
        "extract": (
            "extract:extract",
            "Extract entities, assertions and relations from reports.",
        ),
        "entail": (
            "entail:entail",
            "Classify sentence pairs: entailment, neutral, contradiction.",
        ),
    },
    "With people": {
        "serve": (
            "serve:serve",
            "Look at runs and score reports in the browser (extra web).",
        ),
        "study": (
            "study:study_app",
            "Plan, watch and export a study in which experts score reports.",
        ),
        "challenge": (
            "challenge:challenge_app",
            "Set up a challenge, check files, and rank teams with intervals.",
        ),
    },
    "Runs and gates": {
        "report": ("report:report", "Make a page or a table of a finished run."),
        "compare": (
            "compare:compare",
            "Compare systems by the scores of one metric; fail if a new one is worse.",
        ),
        "runs": ("runs:runs_app", "List, show, compare and remove runs."),
        "log": ("log:log", "Log a finished run to MLflow, W&B or inspect_ai."),
    },
    "Research": {
        "evaluate": (
            "evaluate:evaluate_app",
            "Evaluate models on annotated data, and metrics on probes.",
        ),
        "experiment": (
            PLUG_IN,
            "Repeat the PathGLS experiments on your data.",
        ),
        "train": (PLUG_IN, "Train models from annotated reports (extra train)."),
        "corpus": (
            PLUG_IN,
            "Inspect, compare, split and convert annotated corpora.",
        ),
        "slide": ("slide:slide_app", "Inspect slides and images, and cut tiles."),
    },
}
"""Each verb with its place in `histoeval.cli`, and one sentence of help, by the panel of `--help`.

A verb is imported when it is used, so that `--help` stays fast. Entry points of the group
`histoeval.verbs` add verbs, and take the place of those of the same name.
"""

EXTENDED = ("evaluate",)
"""Verbs that the research package has more of."""

VERBS = {name: verb for verbs in PANELS.values() for name, verb in verbs.items()}


class LazyGroup(TyperGroup):
    """The verbs: listed by their names, imported when they are run."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for panel, verbs in PANELS.items():
            for name, (_, text) in verbs.items():
                self.commands[name] = TyperCommand(name=name, help=text, rich_help_panel=panel)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the verb that is run; a name that is unknown suggests the nearest one."""
        if (verb := load_verb(args[0])) is not None:
            self.commands[args[0]] = verb
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        """As Typer does; what a complaint quotes from the command line is made visible."""
        with _visible_complaints():
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        """As Typer does, with the same care."""
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
    """The verb of this name, as a command or group of Typer; None where there is none."""
    home = VERBS[name][0] if name in VERBS else PLUG_IN
    if home == PLUG_IN or name in EXTENDED:
        plug_ins = entry_points(group="histoeval.verbs", name=name)
        if plug_ins:
            return _as_command(name, next(iter(plug_ins)).load())
    if home == PLUG_IN:
        if name in VERBS:
            raise MissingDependency(
                f"`histoeval {name}` comes with the research package: {pip_install('research')}"
            )
        return None
    module, attribute = home.split(":")
    return _as_command(name, getattr(import_module(f"histoeval.cli.{module}"), attribute))


def _as_command(name: str, found: Any) -> Any:
    if isinstance(found, typer.Typer):
        return typer.main.get_group(found)
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    single.command(name)(found)
    return typer.main.get_command(single)


def _print_version(wanted: bool) -> None:
    if wanted:
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


def _print_warning(message: Warning | str, *_: Any) -> None:
    typer.echo(f"histoeval: {message}", err=True)


def _name_shell(words: Sequence[str]) -> None:
    """Have Typer take the shell that is named behind an option of completion, and not guess it."""
    if words[:1] in (["--install-completion"], ["--show-completion"]) and len(words) > 1:
        os.environ["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"


def main() -> None:
    """Run a verb; exit with 2 and a plain sentence when nothing could be done."""
    _name_shell(sys.argv[1:])
    with guarded(), warnings.catch_warnings():
        warnings.showwarning = _print_warning  # type: ignore[assignment]
        _run()


def _run() -> None:
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
