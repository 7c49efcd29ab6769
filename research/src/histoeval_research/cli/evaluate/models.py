"""`histoeval evaluate reader`, `aligner` and `nli`: evaluate models on annotated data."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.entail import ModelOption
from histoeval.cli.evaluate import evaluate_app
from histoeval.cli.output import (
    ResultsFile,
    demand_folder,
    print_tables,
    write_lines,
    write_results,
)
from histoeval.cli.verb import verb
from histoeval.labels import read_labels
from histoeval.nli.builtin import open_entailer
from histoeval.progress import step_progress
from histoeval.run.models import DeviceName, Models, is_joint, load_aligner, load_reader
from histoeval.run.settings import OptionalResamples
from histoeval.settings import Option
from histoeval_research.cli.corpus import CorpusFormat, FormatOption
from histoeval_research.evaluate.aligner import evaluate_aligner, read_opposites
from histoeval_research.evaluate.mistakes import mistakes
from histoeval_research.evaluate.nli import evaluate_nli
from histoeval_research.evaluate.reader import (
    evaluate,
    evaluate_by_source,
    out_of_reach,
    read_passages,
)
from histoeval_research.ontology.obo import Kind, read_ontology
from histoeval_research.train.aligner.names import listed
from histoeval_research.train.nli.pairs import labelled_sets
from histoeval_research.view.model_tables import (
    aligner_tables,
    evaluation_tables,
    nli_tables,
    source_table,
)


@evaluate_app.command()
@verb
def reader(
    corpus: Annotated[
        Path, Option("Annotated passages, in any format that `histoeval corpus` reads.")
    ],
    from_format: FormatOption = None,
    labels: Annotated[
        Path | None,
        Option(
            "JSON file that maps labels of the corpus or of the reader to ours, as in "
            '{"Tumour": "diagnosis"}.'
        ),
    ] = None,
    models: Annotated[Models, Option("", only="reader relations device dtype")] = Models(),
    output: ResultsFile = None,
    errors: Annotated[
        Path | None,
        Option(
            "JSON lines file for the passages with mistakes: missing, invented, mistyped or "
            "misplaced entities."
        ),
    ] = None,
    by: Annotated[
        Literal["source"] | None, Option("Also report each source of the corpus.")
    ] = None,
    resamples: OptionalResamples = 1000,
    seed: Annotated[int, Option("Random seed of the resamples.", min=0)] = 0,
) -> None:
    """Compare what a reader finds with an annotated corpus.

    Exit code 0: every passage was compared; 1: some could not be read, and are listed; 2: nothing
    could be done.

    Examples:
      histoeval evaluate reader --corpus corpus.jsonl --errors mistakes.jsonl
    """
    for file in (output, errors):
        demand_folder(file)
    names = None if labels is None else read_labels(labels)
    source = CorpusFormat(from_format, names)
    passages = list(source.read(corpus))
    known = None if is_joint(models.reader) else names  # a joint reader uses our labels
    loaded = load_reader(models.model_copy(update={"labels": known}))
    with step_progress(f"reading {corpus.name}", len(passages)) as report:
        readings = read_passages(loaded, passages, report)
    missing = out_of_reach(loaded)
    drawn = {"resamples": resamples, "seed": seed}
    whole = evaluate(readings, missing, **drawn)
    sources = evaluate_by_source(readings, missing, **drawn) if by == "source" else {}
    results: dict[str, Any] = {"unread": len(source.problems), **whole.model_dump(mode="json")}
    if sources:
        results["sources"] = {
            name: evaluation.model_dump(mode="json") for name, evaluation in sources.items()
        }
    write_results(output, {"corpus": corpus.name, "reader": loaded.identity}, results)
    if errors is not None:
        write_lines(errors, (found.model_dump_json() for found in mistakes(readings)))
    print_tables([*evaluation_tables(whole), source_table(sources) if sources else None])
    if problems := source.problems:
        total = len(problems) + len(passages)
        typer.echo(f"{len(problems):,} of {total:,} passages skipped", err=True)
    source.finish()


@evaluate_app.command()
@verb
def aligner(
    ontology: Annotated[
        Path, Option("File of concepts and their names, as used to train the aligner.")
    ],
    kind: Annotated[Kind, Option("Format of that file.")] = "ncit",
    held_out: Annotated[
        float, Option("Share of concepts held out for testing.", min=0.001, max=1)
    ] = 0.1,
    opposites: Annotated[
        Path | None, Option("JSON lines of phrase, synonym, opposite, opposite_synonym and axis.")
    ] = None,
    models: Annotated[Models, Option("", only="aligner pooling device")] = Models(),
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
    loaded = load_aligner(models)
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
        Option(
            "JSON lines of premise, hypothesis, label and source; those of source snli_test "
            "are used."
        ),
    ] = None,
    pairs: Annotated[
        Path | None, Option("JSON lines of premise, hypothesis, label and category; all are used.")
    ] = None,
    model: ModelOption = None,
    device: DeviceName = None,
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
