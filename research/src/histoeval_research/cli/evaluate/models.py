"""`histoeval evaluate reader`, `aligner` and `nli`: evaluate models on annotated data."""

from pathlib import Path
from typing import Annotated, Any

from histoeval.cli.entail import ModelOption
from histoeval.cli.evaluate.run import evaluate_app
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.models import AlignerOption, DeviceOption, PoolingOption
from histoeval.cli.options.output import ResultsFile, demand_folder, print_tables, write_results
from histoeval.cli.options.statistics import OptionalResamples
from histoeval.nli.load import open_entailer
from histoeval.progress import step_progress
from histoeval.run.models import Models, load_aligner
from histoeval_research.cli.evaluate.reader import reader
from histoeval_research.evaluate.aligner import evaluate_aligner
from histoeval_research.evaluate.nli import evaluate_nli
from histoeval_research.evaluate.opposites import read_opposites
from histoeval_research.ontology.obo import Kind, read_ontology
from histoeval_research.train.aligner.names import listed
from histoeval_research.train.nli.data import labelled_sets
from histoeval_research.view.terminal.models import aligner_tables, nli_tables

evaluate_app.command()(reader)


@evaluate_app.command()
@verb
def aligner(
    ontology: Annotated[
        Path, option("File of concepts and their names, as used to train the aligner.")
    ],
    kind: Annotated[Kind, option("Format of that file.")] = "ncit",
    held_out: Annotated[
        float, option("Share of concepts held out for testing.", min=0.001, max=1)
    ] = 0.1,
    opposites: Annotated[
        Path | None, option("JSON lines of phrase, synonym, opposite, opposite_synonym and axis.")
    ] = None,
    aligner: AlignerOption = None,
    pooling: PoolingOption = "cls",
    device: DeviceOption = None,
    output: ResultsFile = None,
    resamples: OptionalResamples = 1000,
) -> None:
    """Measure whether an aligner finds concepts by unseen names, and separates opposites.

    Examples:
      histoeval evaluate aligner --ontology Thesaurus.txt --output aligner.json
    """
    demand_folder(output)
    concepts = list(read_ontology(ontology, kind))
    rows = read_opposites(opposites) if opposites else []
    loaded = load_aligner(Models(aligner=aligner, pooling=pooling, device=device))
    names = sum(len(concept.names) for concept in concepts)
    with step_progress(f"embedding {ontology.name}", names) as report:
        found = evaluate_aligner(
            loaded,
            concepts,
            rows,
            held_out=held_out,
            known=listed(),
            resamples=resamples,
            report=report,
        )
    results = found.model_dump(mode="json")
    write_results(output, {"ontology": ontology.name, "aligner": loaded.identity}, results)
    print_tables(aligner_tables(results))


@evaluate_app.command()
@verb
def nli(
    general: Annotated[
        Path | None,
        option(
            "JSON lines of premise, hypothesis, label and source; those of source snli_test "
            "are used."
        ),
    ] = None,
    pairs: Annotated[
        Path | None, option("JSON lines of premise, hypothesis, label and category; all are used.")
    ] = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    output: ResultsFile = None,
) -> None:
    """Measure how well an NLI model recognises entailment, neutral and contradiction.

    Examples:
      histoeval evaluate nli --pairs pathology_pairs.jsonl
    """
    demand_folder(output)
    sets = labelled_sets(general, pairs)
    loaded = open_entailer(model, device)
    results: dict[str, Any] = {}
    for name, some in sets.items():
        with step_progress(f"judging {name}", len(some)) as report:
            results[name] = evaluate_nli(loaded, some, report).model_dump(mode="json")
    write_results(output, {"model": loaded.identity}, results)
    print_tables(nli_tables(results))
