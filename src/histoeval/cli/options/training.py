"""What all verbs of `histoeval train` share: their options, and how a training is run and told."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from histoeval.cli.options.bundle import bundle
from histoeval.cli.options.models import DeviceOption
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.progress import OnStep
    from histoeval.train.core.loop import Watch

OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Begin anew, and replace what the folder holds.")
]


@bundle
class Recipe:
    """The settings of a training, and where its outcome goes."""

    config: Annotated[
        Path, typer.Argument(metavar="CONFIG.yaml", help="Settings.", show_default=False)
    ]
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Another value for a setting, as in rate=1e-5; can be given again.",
        ),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(help="Folder for the model; a training that was stopped goes on there."),
    ] = None

    def read(self, kind: type[Any]) -> tuple[Any, Path]:
        """The settings, and the folder: what the command says comes before what the file says."""
        from histoeval.train.core.settings import read_settings

        settings: Any = read_settings(self.config, kind, self.changes or ())
        folder = self.output or settings.output
        if folder is None:
            raise SettingError(
                f"where to? Give --output FOLDER, or write `output: FOLDER` in {self.config}"
            )
        return settings, folder


@bundle
class TorchTraining:
    """A training of a model in torch: its recipe, and how it runs."""

    recipe: Recipe
    device: DeviceOption = None
    overwrite: OverwriteOption = False

    def run(
        self,
        what: str,
        kind: type[Any],
        train: Callable[..., dict[str, Any]],
        tables: Callable[[dict[str, Any]], Iterable[Any]],
        kept: Callable[[Any, Path], Path] = lambda _, folder: folder,
    ) -> None:
        """Train with settings of this kind while somebody watches; show the tables of the results.

        `kept` says where that lies from which a training that is stopped goes on.
        """
        settings, folder = self.recipe.read(kind)
        outcome = outcome_of(folder, self.overwrite)
        with told_when_stopped(kept(settings, folder)), bar(f"training {what}") as watch:
            how = {"device": self.device, "overwrite": self.overwrite, "watch": watch}
            results = train(settings, folder, **how)
        show(tables(results), outcome)


def require_hf() -> None:
    """Say what to install where this machine cannot train at all."""
    from histoeval.runtime.transformer import require_hf as require

    require()


def say(line: str) -> None:
    """A word on what is done now, beside the results."""
    typer.echo(line, err=True)


def outcome_of(folder: Path, overwrite: bool) -> str:
    """What there will be to tell of the folder; to be asked before the training."""
    from histoeval.train.core.model_folder import is_finished

    if is_finished(folder) and not overwrite:
        return f"{folder} was finished before; --overwrite trains it anew"
    return f"Written: {folder}"


def show(shown: Iterable[Any], outcome: str) -> None:
    """The tables of a training, and where its model is."""
    from rich.console import Console

    console = Console()
    for table in shown:
        console.print(table)
    typer.echo(outcome)


@contextmanager
def bar(description: str) -> Iterator[Watch]:
    """A bar that is there from the first step on."""
    from histoeval.progress import step_progress

    with ExitStack() as stack:
        tell: OnStep | None = None

        def watch(step: int, steps: int, loss: float) -> None:
            """Draw the bar when the number of steps is known, and move it."""
            nonlocal tell
            if tell is None:
                tell = stack.enter_context(step_progress(description, steps))
            tell(step, "" if math.isnan(loss) else f"loss {loss:.3f}")

        yield watch


@contextmanager
def told_when_stopped(folder: Path) -> Iterator[None]:
    """Say what is kept when somebody has had enough."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; every finished epoch is kept in {folder}: the same command continues there")
        raise typer.Exit(130) from None
