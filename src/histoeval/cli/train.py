"""`histoeval train`: make models from annotated reports."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import typer

from histoeval.cli.options.bundle import spread
from histoeval.cli.options.models import AlignerOption, ReaderOption
from histoeval.cli.options.training import (
    OverwriteOption,
    Recipe,
    TorchTraining,
    bar,
    outcome_of,
    require_hf,
    say,
    show,
    told_when_stopped,
)

train_app = typer.Typer(
    no_args_is_help=True, help="Train models from annotated reports (needs the extra train)."
)


@train_app.command()
@spread
def ner(training: TorchTraining) -> None:
    """Train an entity model, as the HARE paper does: a token classifier on any encoder."""
    require_hf()
    from histoeval.train.hare_bench.config import NerSettings
    from histoeval.train.hare_bench.ner import train_ner
    from histoeval.view.terminal.models import training_table

    training.run("entities", NerSettings, train_ner, lambda found: [training_table(found)])


@train_app.command()
@spread
def relations(training: TorchTraining) -> None:
    """Train a relation model, as the HARE paper does: a classifier of marked pairs."""
    require_hf()
    from histoeval.train.hare_bench.config import RelationSettings
    from histoeval.train.hare_bench.relations import train_relations
    from histoeval.view.terminal.models import training_table

    training.run(
        "relations", RelationSettings, train_relations, lambda found: [training_table(found)]
    )


@train_app.command()
@spread
def concordance(
    recipe: Recipe,
    reader: ReaderOption = None,
    aligner: AlignerOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Fit the weights of concordance to sheets of scored pairs; figures are cross-validated."""
    from rich.markdown import Markdown

    from histoeval.run.models import Models, load_aligner, load_reader
    from histoeval.train.concordance.train import (
        ConcordanceSettings,
        train_concordance,
    )

    settings, folder = recipe.read(ConcordanceSettings)
    outcome = outcome_of(folder, overwrite)
    models = Models(reader=reader, aligner=aligner)
    train_concordance(
        settings, folder, load_reader(models), load_aligner(models), overwrite=overwrite
    )
    show([Markdown((folder / "README.md").read_text("utf-8"))], outcome)


@train_app.command()
@spread
def select(training: TorchTraining) -> None:
    """Train several encoders at both tasks and compare them in the paper's table 4.

    Trainings that are finished are not run again. Exit code 1: an encoder could not be trained,
    and the table says why.
    """
    require_hf()
    from histoeval.train.hare_bench.config import SelectSettings
    from histoeval.train.hare_bench.select import TrainingSite, failures
    from histoeval.train.hare_bench.select import select as train_and_compare
    from histoeval.view.terminal.models import selection_table

    settings, folder = training.recipe.read(SelectSettings)
    bench = TrainingSite(training.device, training.overwrite, lambda what: bar(f"training {what}"))
    with told_when_stopped(folder):
        results = train_and_compare(settings, folder, bench)
    written = f"Written: {folder / 'results.json'}, {folder / 'results.md'}"
    show([selection_table(results)], written)
    if failures(results):
        raise typer.Exit(1)


@train_app.command()
@spread
def reader(training: TorchTraining) -> None:
    """Train a joint reader, as the builtin one was: entities, assertion and relations in one pass.

    Every step is kept in the folder OUTPUT.work: a training that was stopped goes on there, and
    one with other settings repeats only what depends on them.
    """
    require_hf()
    from histoeval.train.reader.config import ReaderSettings
    from histoeval.train.reader.train import Surroundings, train_reader, work_folder
    from histoeval.view.terminal.models import reader_table

    def train(settings: ReaderSettings, folder: Path, **_: Any) -> dict[str, Any]:
        """Each step has a bar of its own."""
        around = Surroundings(training.device, training.overwrite, bar, say)
        return train_reader(settings, folder, around)

    training.run(
        "the reader", ReaderSettings, train, lambda found: [reader_table(found)], work_folder
    )


@train_app.command()
@spread
def aligner(training: TorchTraining) -> None:
    """Train an aligner, as the builtin one was: names of ontologies, by SapBERT's recipe."""
    require_hf()
    from histoeval.train.aligner.train import AlignerSettings, train_aligner
    from histoeval.view.terminal.models import aligner_tables

    train = partial(train_aligner, tell=say)
    training.run(
        "the aligner", AlignerSettings, train, lambda found: aligner_tables(found["scores"])
    )


@train_app.command()
@spread
def nli(training: TorchTraining) -> None:
    """Train an NLI model, as the builtin one was: general pairs and made pairs of pathology."""
    require_hf()
    from histoeval.train.nli.train import NliSettings, train_nli
    from histoeval.view.terminal.models import nli_tables

    train = partial(train_nli, tell=say)
    training.run("the NLI model", NliSettings, train, lambda found: nli_tables(found["scores"]))


@train_app.command()
@spread
def grounding(training: TorchTraining) -> None:
    """Train a grounding model, as the builtin one was: labelled tiles against phrases."""
    require_hf()
    from histoeval.train.grounding.train import GroundingSettings, train_grounding
    from histoeval.view.terminal.models import grounding_tables

    train = partial(train_grounding, tell=say)
    training.run(
        "the grounding model",
        GroundingSettings,
        train,
        lambda found: grounding_tables(found["scores"]),
    )
