"""What the verbs of `histoeval train` share: their options, and how a training is run and shown."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.output import print_tables, resumable
from histoeval.errors import SettingError
from histoeval.io.settings_files import read_settings
from histoeval.io.writing import protect
from histoeval.progress import OnStep, step_progress
from histoeval.run.models import DeviceName
from histoeval.settings import Argument, Option
from histoeval_research.train.core.loop import TrainingSite, Watch
from histoeval_research.train.core.model_folder import is_finished

EPOCHS = "finished epochs are"

OverwriteOption = Annotated[
    bool, Option("Restart, and replace an existing model.", name="--overwrite")
]


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a training, and where its model goes."""

    config: Annotated[Path, Argument("File with the settings.", metavar="CONFIG.yaml")]
    changes: Annotated[
        list[str] | None,
        Option(
            "Override a setting, as in rate=1e-5; can be repeated.",
            name="--set",
            metavar="KEY=VALUE",
        ),
    ] = None
    output: Annotated[
        Path | None, Option("Folder for the model; a stopped training resumes there.")
    ] = None

    def read(self, kind: type[Any]) -> tuple[Any, Path]:
        """The settings and the folder; options override the file."""
        settings: Any = read_settings(self.config, kind, self.changes or ())
        protect(_files_in(settings.model_dump(exclude={"output", "work"})))
        folder = self.output or settings.output
        if folder is None:
            raise SettingError(f"no output folder: pass --output or set `output:` in {self.config}")
        return settings, folder


@dataclass(frozen=True)
class TorchTraining:
    """A training in torch: its settings, and how it runs."""

    config: TrainingConfig
    device: DeviceName = None
    overwrite: OverwriteOption = False

    @property
    def site(self) -> TrainingSite:
        """Where the training runs, and how it is shown."""
        return TrainingSite(self.device, self.overwrite, bar, report_step)

    def run(
        self,
        kind: type[Any],
        train: Callable[..., dict[str, Any]],
        tables: Callable[[dict[str, Any]], Iterable[Any]],
        kept: Callable[[Any, Path], Path] = lambda _, folder: folder,
    ) -> None:
        """Train with settings of this kind, with progress bars; print the tables of the results.

        `kept` gives the folder from which a stopped training resumes.
        """
        settings, folder = self.config.read(kind)
        outcome = outcome_of(folder, self.overwrite)
        with resumable(kept(settings, folder), EPOCHS):
            results = train(settings, folder, self.site)
        print_tables(tables(results))
        typer.echo(outcome)


def _files_in(value: Any) -> Iterator[Path]:
    """The paths in settings, however deep."""
    if isinstance(value, Path):
        yield from value.rglob("*") if value.is_dir() else [value]
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _files_in(each)


def report_step(line: str) -> None:
    """Print the current step on stderr."""
    typer.echo(line, err=True)


def outcome_of(folder: Path, overwrite: bool) -> str:
    """The last line of the output; to be called before the training."""
    if is_finished(folder) and not overwrite:
        return f"{folder} was finished before; --overwrite trains it again"
    return f"Written: {folder}"


@contextmanager
def bar(description: str) -> Iterator[Watch]:
    """A progress bar that appears with the first step."""
    with ExitStack() as stack:
        report: OnStep | None = None

        def watch(step: int, steps: int, loss: float) -> None:
            """Draw the bar when the number of steps is known, and advance it."""
            nonlocal report
            if report is None:
                report = stack.enter_context(step_progress(description, steps))
            report(step, "" if math.isnan(loss) else f"loss {loss:.3f}")

        yield watch
