"""`histoeval train`: train models from annotated reports.

Modules that need torch are imported after `require_hf`, which says what to install.
"""

import typer
from rich.markdown import Markdown

from histoeval.cli.output import print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.run.models import (
    AlignerName,
    Models,
    NliName,
    ReaderName,
    load_aligner,
    load_entailer,
    load_reader,
)
from histoeval.runtime.transformer import require_hf
from histoeval.view.terminal.evaluation import grounding_tables
from histoeval_research.cli.training_options import (
    EPOCHS,
    OverwriteOption,
    TorchTraining,
    TrainingConfig,
    outcome_of,
)
from histoeval_research.train.concordance.train import ConcordanceSettings, train_concordance
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
