"""`histoeval train`: train models from annotated reports.

Modules that need torch are imported after `require_hf`, which says what to install.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markdown import Markdown

from histoeval.cli.output import print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.errors import SettingError
from histoeval.io.settings_files import read_settings
from histoeval.io.writing import protect
from histoeval.progress import OnStep, step_progress
from histoeval.run.models import (
    AlignerName,
    DeviceName,
    Models,
    NliName,
    ReaderName,
    load_aligner,
    load_entailer,
    load_reader,
)
from histoeval.runtime.transformer import require_hf
from histoeval.settings import Argument, Option
from histoeval.view.terminal.evaluation import grounding_tables
from histoeval_research.train.concordance.train import ConcordanceSettings, train_concordance
from histoeval_research.train.core.loop import TrainingSite, Watch
from histoeval_research.train.core.model_folder import is_finished
from histoeval_research.view.model_tables import (
    aligner_tables,
    nli_tables,
    reader_table,
    selection_table,
    training_table,
)

train_app = typer.Typer(
    no_args_is_help=True, help="Train models from annotated reports (extra train)."
)


EPOCHS = "finished epochs are"

OverwriteOption = Annotated[
    bool, Option("Restart, and replace an existing model.", name="--overwrite")
]


@dataclass(frozen=True)
class TrainingConfig:
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
    config: TrainingConfig
    device: DeviceName = None
    overwrite: OverwriteOption = False

    @property
    def site(self) -> TrainingSite:
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
    if isinstance(value, Path):
        yield from value.rglob("*") if value.is_dir() else [value]
    elif isinstance(value, Mapping | list | tuple):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _files_in(each)


def report_step(line: str) -> None:
    typer.echo(line, err=True)


def outcome_of(folder: Path, overwrite: bool) -> str:
    """The last line of the output; to be called before the training."""
    if is_finished(folder) and not overwrite:
        return f"{folder} was finished before; --overwrite trains it again"
    return f"Written: {folder}"


@contextmanager
def bar(description: str) -> Iterator[Watch]:
    with ExitStack() as stack:
        report: OnStep | None = None

        def watch(step: int, steps: int, loss: float) -> None:
            nonlocal report
            if report is None:
                report = stack.enter_context(step_progress(description, steps))
            report(step, "" if math.isnan(loss) else f"loss {loss:.3f}")

        yield watch


@train_app.command()
@verb
def ner(training: TorchTraining) -> None:
    """Train an entity model, as the HARE paper does: a token classifier on any encoder.

    Examples:
      histoeval train ner ner.yaml --output models/ner
    """
    require_hf()
    from histoeval_research.train.hare_bench.bench import train_ner
    from histoeval_research.train.hare_bench.config import NerSettings

    training.run(NerSettings, train_ner, lambda found: [training_table(found)])


@train_app.command()
@verb
def relations(training: TorchTraining) -> None:
    """Train a relation model, as the HARE paper does: a classifier of marked pairs.

    Examples:
      histoeval train relations relations.yaml --output models/relations
    """
    require_hf()
    from histoeval_research.train.hare_bench.bench import train_relations
    from histoeval_research.train.hare_bench.config import RelationSettings

    training.run(RelationSettings, train_relations, lambda found: [training_table(found)])


@train_app.command()
@verb
def concordance(
    config: TrainingConfig,
    reader: ReaderName = None,
    aligner: AlignerName = None,
    nli: NliName = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Fit the weights of concordance to sheets of scored pairs; results are cross-validated.

    Examples:
      histoeval train concordance concordance.yaml --output models/concordance
    """
    settings, folder = config.read(ConcordanceSettings)
    outcome = outcome_of(folder, overwrite)
    models = Models(reader=reader, aligner=aligner)
    loaded = load_reader(models), load_aligner(models), load_entailer(nli)
    train_concordance(settings, folder, *loaded, overwrite=overwrite)
    print_tables([Markdown((folder / "README.md").read_text("utf-8"))])
    typer.echo(outcome)


@train_app.command()
@verb
def select(training: TorchTraining) -> None:
    """Train several encoders on both tasks and compare them, as in table 4 of the paper.

    Finished trainings are not repeated. Exit code 1: an encoder could not be trained, and the
    table says why.

    Examples:
      histoeval train select encoders.yaml --output models/selection
    """
    require_hf()
    from histoeval_research.train.hare_bench.config import SelectSettings
    from histoeval_research.train.hare_bench.select import failures
    from histoeval_research.train.hare_bench.select import select as train_and_compare

    settings, folder = training.config.read(SelectSettings)
    with resumable(folder, EPOCHS):
        results = train_and_compare(settings, folder, training.site)
    print_tables([selection_table(results)])
    typer.echo(f"Written: {folder / 'results.json'}, {folder / 'results.md'}")
    if failures(results):
        raise typer.Exit(1)


@train_app.command()
@verb
def reader(training: TorchTraining) -> None:
    """Train a joint reader like the builtin one: entities, assertions and relations in one pass.

    Every step is kept in the folder OUTPUT.work: a stopped training resumes there, and one with
    other settings repeats only what depends on them.

    Examples:
      histoeval train reader reader.yaml --output models/reader
    """
    require_hf()
    from histoeval_research.train.reader.config import ReaderSettings
    from histoeval_research.train.reader.train import train_reader, work_folder

    training.run(ReaderSettings, train_reader, lambda found: [reader_table(found)], work_folder)


@train_app.command()
@verb
def aligner(training: TorchTraining) -> None:
    """Train an aligner like the builtin one: on names of ontologies, as SapBERT was.

    Examples:
      histoeval train aligner aligner.yaml --output models/aligner
    """
    require_hf()
    from histoeval_research.train.aligner.config import AlignerSettings
    from histoeval_research.train.aligner.train import train_aligner

    training.run(AlignerSettings, train_aligner, lambda found: aligner_tables(found["scores"]))


@train_app.command()
@verb
def nli(training: TorchTraining) -> None:
    """Train an NLI model like the builtin one: on general and synthetic pathology pairs.

    Examples:
      histoeval train nli nli.yaml --output models/nli
    """
    require_hf()
    from histoeval_research.train.nli.config import NliSettings
    from histoeval_research.train.nli.train import train_nli

    training.run(NliSettings, train_nli, lambda found: nli_tables(found["scores"]))


@train_app.command()
@verb
def grounding(training: TorchTraining) -> None:
    """Train a grounding model like the builtin one: on labelled tiles and phrases.

    Examples:
      histoeval train grounding grounding.yaml --output models/grounding
    """
    require_hf()
    from histoeval_research.train.grounding.config import GroundingSettings
    from histoeval_research.train.grounding.train import train_grounding

    training.run(
        GroundingSettings, train_grounding, lambda found: grounding_tables(found["scores"])
    )
