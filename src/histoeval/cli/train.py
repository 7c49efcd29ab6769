"""`histoeval train`: make models from annotated reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from histoeval.cli.options import AlignerOption, DeviceOption, ReaderOption
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from pydantic import BaseModel

    from histoeval.train.loop import Watch
    from histoeval.view.progress import Tell

S = TypeVar("S", bound="BaseModel")

train_app = typer.Typer(
    no_args_is_help=True, help="Train models from annotated reports (needs the extra train)."
)

WRITTEN = "Written: {}"
FINISHED = "{} was finished before; --overwrite trains it anew"

ConfigFile = Annotated[
    Path, typer.Argument(metavar="CONFIG.yaml", help="Settings.", show_default=False)
]
SetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Another value for a setting, as in rate=1e-5; can be given again.",
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option(help="Folder for the model; a training that was stopped goes on there."),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite", help="Begin anew, and replace what the folder holds.")
]


@train_app.command()
def ner(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train an entity model, as the HARE paper does: a token classifier on any encoder."""
    from histoeval.train.bench import NerSettings  # noqa: PLC0415 - keeps --help fast
    from histoeval.train.ner import train_ner  # noqa: PLC0415

    settings = _read(config, NerSettings, changes)
    folder = _folder(output, settings.output, config)
    _train_one(train_ner, "entities", settings, folder, device, overwrite)


@train_app.command()
def relations(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train a relation model, as the HARE paper does: a classifier of marked pairs."""
    from histoeval.train.bench import RelationSettings  # noqa: PLC0415 - keeps --help fast
    from histoeval.train.relations import train_relations  # noqa: PLC0415

    settings = _read(config, RelationSettings, changes)
    folder = _folder(output, settings.output, config)
    _train_one(train_relations, "relations", settings, folder, device, overwrite)


@train_app.command()
def concordance(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    reader: ReaderOption = None,
    aligner: AlignerOption = None,
) -> None:
    """Fit the weights of concordance to sheets of scored pairs; figures are cross-validated."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast
    from rich.markdown import Markdown  # noqa: PLC0415

    from histoeval.run.models import Models, load_aligner, load_reader  # noqa: PLC0415
    from histoeval.train.concordance_run import (  # noqa: PLC0415
        ConcordanceSettings,
        train_concordance,
    )
    from histoeval.train.settings import read_settings  # noqa: PLC0415

    settings = read_settings(config, ConcordanceSettings, changes or ())
    folder = _folder(output, settings.output, config)
    models = Models(reader=reader, aligner=aligner)
    train_concordance(settings, folder, load_reader(models), load_aligner(models))
    Console().print(Markdown((folder / "README.md").read_text("utf-8")))
    typer.echo(WRITTEN.format(folder))


@train_app.command()
def select(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train several encoders at both tasks and compare them in the paper's table 4.

    Trainings that are finished are not run again. Exit code 1: an encoder could not be trained,
    and the table says why.
    """
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.train.bench import SelectSettings  # noqa: PLC0415
    from histoeval.train.select import Bench, failures  # noqa: PLC0415
    from histoeval.train.select import select as train_and_compare  # noqa: PLC0415
    from histoeval.view.training import selection_table  # noqa: PLC0415

    settings = _read(config, SelectSettings, changes)
    folder = _folder(output, settings.output, config)
    with _told_when_stopped(folder):
        results = train_and_compare(settings, folder, Bench(device, overwrite, watching))
    Console().print(selection_table(results))
    typer.echo(f"Written: {folder / 'results.json'}, {folder / 'results.md'}")
    if failures(results):
        raise typer.Exit(1)


@train_app.command()
def reader(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train a joint reader, as the builtin one was: entities, assertion and relations in one pass.

    Every step is kept in the folder OUTPUT.work: a training that was stopped goes on there, and
    one with other settings repeats only what depends on them.
    """
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.extract.transformer import require_hf  # noqa: PLC0415

    require_hf()
    from histoeval.train.folders import is_finished  # noqa: PLC0415
    from histoeval.train.reader import Surroundings, train_reader, work_folder  # noqa: PLC0415
    from histoeval.train.recipe import ReaderSettings  # noqa: PLC0415
    from histoeval.view.training import reader_table  # noqa: PLC0415

    settings = _read(config, ReaderSettings, changes)
    folder = _folder(output, settings.output, config)
    outcome = FINISHED if is_finished(folder) and not overwrite else WRITTEN
    around = Surroundings(device, overwrite, _bar, lambda line: typer.echo(line, err=True))
    with _told_when_stopped(work_folder(settings, folder)):
        results = train_reader(settings, folder, around)
    Console().print(reader_table(results))
    typer.echo(outcome.format(folder))


@train_app.command()
def aligner(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train an aligner, as the builtin one was: names of ontologies, by SapBERT's recipe."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.extract.transformer import require_hf  # noqa: PLC0415

    require_hf()
    from histoeval.train.aligner import AlignerSettings, train_aligner  # noqa: PLC0415
    from histoeval.train.folders import is_finished  # noqa: PLC0415
    from histoeval.view.aligner import aligner_tables  # noqa: PLC0415

    settings = _read(config, AlignerSettings, changes)
    folder = _folder(output, settings.output, config)
    outcome = FINISHED if is_finished(folder) and not overwrite else WRITTEN
    with _told_when_stopped(folder), watching("the aligner") as watch:
        results = train_aligner(
            settings,
            folder,
            device=device,
            overwrite=overwrite,
            watch=watch,
            tell=lambda line: typer.echo(line, err=True),
        )
    for table in aligner_tables(results["scores"]):
        Console().print(table)
    typer.echo(outcome.format(folder))


@train_app.command()
def nli(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train an NLI model, as the builtin one was: general pairs and made pairs of pathology."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.extract.transformer import require_hf  # noqa: PLC0415

    require_hf()
    from histoeval.train.folders import is_finished  # noqa: PLC0415
    from histoeval.train.nli import NliSettings, train_nli  # noqa: PLC0415
    from histoeval.view.nli import nli_tables  # noqa: PLC0415

    settings = _read(config, NliSettings, changes)
    folder = _folder(output, settings.output, config)
    outcome = FINISHED if is_finished(folder) and not overwrite else WRITTEN
    with _told_when_stopped(folder), watching("the NLI model") as watch:
        results = train_nli(
            settings,
            folder,
            device=device,
            overwrite=overwrite,
            watch=watch,
            tell=lambda line: typer.echo(line, err=True),
        )
    for table in nli_tables(results["scores"]):
        Console().print(table)
    typer.echo(outcome.format(folder))


@train_app.command()
def grounding(
    config: ConfigFile,
    changes: SetOption = None,
    output: OutputOption = None,
    device: DeviceOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Train a grounding model, as the builtin one was: labelled tiles against phrases."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.extract.transformer import require_hf  # noqa: PLC0415

    require_hf()
    from histoeval.train.folders import is_finished  # noqa: PLC0415
    from histoeval.train.grounding import GroundingSettings, train_grounding  # noqa: PLC0415
    from histoeval.view.grounding import grounding_tables  # noqa: PLC0415

    settings = _read(config, GroundingSettings, changes)
    folder = _folder(output, settings.output, config)
    outcome = FINISHED if is_finished(folder) and not overwrite else WRITTEN
    results = train_grounding(
        settings,
        folder,
        device=device,
        overwrite=overwrite,
        tell=lambda line: typer.echo(line, err=True),
    )
    for table in grounding_tables(results["scores"]):
        Console().print(table)
    typer.echo(outcome.format(folder))


def _read(config: Path, kind: type[S], changes: list[str] | None) -> S:
    """The settings, if this machine can train at all."""
    from histoeval.extract.transformer import require_hf  # noqa: PLC0415
    from histoeval.train.settings import read_settings  # noqa: PLC0415

    require_hf()
    return read_settings(config, kind, changes or ())


def _folder(output: Path | None, in_settings: Path | None, config: Path) -> Path:
    """Where the outcome goes: what the command says comes before what the file says."""
    folder = output or in_settings
    if folder is None:
        raise SettingError(f"where to? Give --output FOLDER, or write `output: FOLDER` in {config}")
    return folder


def _train_one(
    train: Callable[..., dict[str, Any]],
    what: str,
    settings: BaseModel,
    folder: Path,
    device: str | None,
    overwrite: bool,
) -> None:
    """Train one model of the paper's bench, and show its scores."""
    from histoeval.train.folders import is_finished  # noqa: PLC0415

    outcome = FINISHED if is_finished(folder) and not overwrite else WRITTEN
    with _told_when_stopped(folder), watching(what) as watch:
        results = train(settings, folder, device=device, overwrite=overwrite, watch=watch)
    _show(results, folder, outcome)


def _show(results: dict[str, Any], folder: Path, words: str) -> None:
    """The scores of a model, and where it is."""
    from rich.console import Console  # noqa: PLC0415

    from histoeval.view.training import training_table  # noqa: PLC0415

    Console().print(training_table(results))
    typer.echo(words.format(folder))


def watching(what: str) -> AbstractContextManager[Watch]:
    """A bar while something is trained."""
    return _bar(f"training {what}")


@contextmanager
def _bar(description: str) -> Iterator[Watch]:
    """A bar that is there from the first step on."""
    from histoeval.view.progress import step_progress  # noqa: PLC0415 - keeps --help fast

    with ExitStack() as stack:
        tell: Tell | None = None

        def watch(step: int, steps: int, loss: float) -> None:
            nonlocal tell
            if tell is None:
                tell = stack.enter_context(step_progress(description, steps))
            tell(step, "" if math.isnan(loss) else f"loss {loss:.3f}")

        yield watch


@contextmanager
def _told_when_stopped(folder: Path) -> Iterator[None]:
    """Say what is kept when somebody has had enough."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(
            f"stopped; every finished epoch is kept in {folder}: the same command continues there",
            err=True,
        )
        raise typer.Exit(130) from None
