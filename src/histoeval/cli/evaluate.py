"""`histoeval evaluate`: measure models on what people have annotated, and metrics on probes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from histoeval.cli.corpus import FormatName, FormatOption
from histoeval.cli.entail import ModelOption, load_entailer
from histoeval.cli.files import demand_folder, write_lines
from histoeval.cli.options import (
    MODELS,
    AlignerOption,
    DeviceOption,
    DtypeOption,
    ReaderOption,
    RelationsOption,
)
from histoeval.cli.probes import probes
from histoeval.errors import InputError, Problem
from histoeval.io.ontologies import Kind
from histoeval.version import __version__

if TYPE_CHECKING:
    from histoeval.io.corpus import Passage
    from histoeval.train.evaluation import Evaluation

evaluate_app = typer.Typer(
    no_args_is_help=True,
    help="Measure models on what people have annotated, and metrics on probes.",
)
evaluate_app.command()(probes)

Labels = dict[str, str | None]


@evaluate_app.command()
def reader(
    corpus: Annotated[
        Path,
        typer.Option(
            help="Annotated passages, in any format that `histoeval corpus` reads.",
            show_default=False,
        ),
    ],
    from_format: FormatOption = None,
    labels: Annotated[
        Path | None,
        typer.Option(
            help="JSON file that says what labels of the corpus or of the reader mean, as in "
            '{"Tumour": "diagnosis"}.'
        ),
    ] = None,
    reader: ReaderOption = None,
    relations: RelationsOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
    ] = None,
    errors: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines file for the passages that were read wrongly, with what is missing, "
            "invented, mistyped or misplaced.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        Literal["source"] | None, typer.Option(help="Also tell each source apart.")
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of reports for the intervals; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other resamples.")] = 0,
) -> None:
    """Compare what a reader finds with what people annotated.

    Exit code 0: every passage was compared; 1: some could not be read, and are named; 2: nothing
    could be done.
    """
    from histoeval.run.models import Models, is_joint, load_reader  # noqa: PLC0415 - keeps --help fast
    from histoeval.train.evaluation import (  # noqa: PLC0415
        evaluate,
        evaluate_by_source,
        out_of_reach,
        read_passages,
    )
    from histoeval.train.mistakes import mistakes  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    for file in (output, errors):
        demand_folder(file)
    names = _names(labels)
    passages, problems = _passages(corpus, from_format, names)
    loaded = load_reader(
        Models(
            reader=reader,
            relations=relations,
            labels=None if is_joint(reader) else names,
            device=device,
            dtype=dtype,
        )
    )
    with step_progress(f"reading {corpus.name}", len(passages)) as tell:
        readings = read_passages(loaded, passages, tell)
    missing = out_of_reach(loaded)
    whole = evaluate(readings, missing, resamples=resamples, seed=seed)
    sources: dict[str, Evaluation] = {}
    if by == "source":
        sources = evaluate_by_source(readings, missing, resamples=resamples, seed=seed)
    if output is not None:
        header = {
            "corpus": corpus.name,
            "reader": loaded.identity,
            "histoeval": __version__,
            "unread": len(problems),
        }
        write_lines(
            output, [json.dumps(header | _told(whole, sources), indent=2, ensure_ascii=False)]
        )
    if errors is not None:
        write_lines(errors, (found.model_dump_json() for found in mistakes(readings)))
    _show(whole, sources)
    _finish(problems, len(passages))


@evaluate_app.command()
def aligner(
    ontology: Annotated[
        Path,
        typer.Option(help="Concepts with their names, as the aligner was trained on them."),
    ],
    kind: Annotated[Kind, typer.Option(help="What kind of file that is.")] = "ncit",
    held_out: Annotated[
        float, typer.Option(min=0.001, max=1, help="Share of concepts that were kept for testing.")
    ] = 0.1,
    opposites: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines of phrase, synonym, opposite, opposite_synonym and axis.",
            show_default=False,
        ),
    ] = None,
    aligner: AlignerOption = None,
    pooling: Annotated[
        Literal["cls", "mean"],
        typer.Option(help="How a Hugging Face aligner makes one vector.", rich_help_panel=MODELS),
    ] = "cls",
    device: DeviceOption = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
    ] = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of concepts for the intervals; 0 for none.")
    ] = 1000,
) -> None:
    """Measure whether an aligner finds concepts by unseen names, and tells opposites apart."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.io.ontologies import read_ontology  # noqa: PLC0415
    from histoeval.run.models import Models, load_aligner  # noqa: PLC0415
    from histoeval.train.aligner_evaluation import evaluate_aligner  # noqa: PLC0415
    from histoeval.train.opposites import read_opposites  # noqa: PLC0415
    from histoeval.view.aligner import aligner_tables  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    demand_folder(output)
    concepts = list(read_ontology(ontology, kind))
    rows = read_opposites(opposites) if opposites else []
    loaded = load_aligner(Models(aligner=aligner, pooling=pooling, device=device))
    names = sum(len(named.names) for named in concepts)
    with step_progress(f"embedding {ontology.name}", names) as tell:
        found = evaluate_aligner(
            loaded, concepts, rows, held_out=held_out, resamples=resamples, tell=tell
        )
    told = found.model_dump(mode="json")
    if output is not None:
        header = {"ontology": ontology.name, "aligner": loaded.identity, "histoeval": __version__}
        write_lines(output, [json.dumps(header | told, indent=2, ensure_ascii=False)])
    for table in aligner_tables(told):
        Console().print(table)


@evaluate_app.command()
def nli(
    general: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines of premise, hypothesis, label and source; the source snli_test is "
            "judged.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="JSON lines of premise, hypothesis, label and category; all are judged.",
            show_default=False,
        ),
    ] = None,
    model: ModelOption = None,
    device: DeviceOption = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
    ] = None,
) -> None:
    """Measure whether an NLI model tells entailment, neutral and contradiction."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.train.nli_data import labelled_sets  # noqa: PLC0415
    from histoeval.train.nli_evaluation import evaluate_nli  # noqa: PLC0415
    from histoeval.view.nli import nli_tables  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    demand_folder(output)
    sets = labelled_sets(general, pairs)
    loaded = load_entailer(model, device)
    told: dict[str, Any] = {}
    for name, some in sets.items():
        with step_progress(f"judging {name}", len(some)) as tell:
            told[name] = evaluate_nli(loaded, some, tell).model_dump(mode="json")
    if output is not None:
        header = {"model": loaded.identity, "histoeval": __version__}
        write_lines(output, [json.dumps(header | told, indent=2, ensure_ascii=False)])
    for table in nli_tables(told):
        Console().print(table)


@evaluate_app.command()
def grounding(
    tiles: Annotated[
        Path,
        typer.Option(
            help="Folder with index.jsonl and tar files of tiles.",
            exists=True,
            file_okay=False,
            show_default=False,
        ),
    ],
    split: Annotated[
        list[str] | None,
        typer.Option(help="Split to measure on; can be given again.  [default: test]"),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(help="Folder of a grounding model; the builtin one if left out."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
    ] = None,
) -> None:
    """Measure whether a grounding model tells organs, malignancy and foreign claims on tiles."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast

    from histoeval.train.grounding_evaluation import (  # noqa: PLC0415
        evaluate_grounding,
        phrases_told,
        tiles_of,
    )
    from histoeval.trust.builtin_encoder import BuiltinEncoder  # noqa: PLC0415
    from histoeval.view.grounding import grounding_tables  # noqa: PLC0415
    from histoeval.view.progress import step_progress  # noqa: PLC0415

    demand_folder(output)
    encoder = BuiltinEncoder(model)
    told: dict[str, Any] = {}
    for name in split or ["test"]:
        with step_progress(f"looking at {name}", len(tiles_of(tiles, name))) as tell:
            told[name] = evaluate_grounding(encoder, tiles, name, tell)
    told["phrases"] = phrases_told(encoder)
    if output is not None:
        header = {"model": encoder.identity, "histoeval": __version__}
        write_lines(output, [json.dumps(header | told, indent=2, ensure_ascii=False)])
    for table in grounding_tables(told):
        Console().print(table)


def _names(labels: Path | None) -> Labels | None:
    from histoeval.io.annotation.names import read_labels  # noqa: PLC0415

    return None if labels is None else read_labels(labels)


def _passages(
    corpus: Path, kind: FormatName | None, names: Labels | None
) -> tuple[list[Passage], list[Problem]]:
    """The passages that can be read, and why the others cannot."""
    from histoeval.io.corpus import read_corpus  # noqa: PLC0415

    problems: list[Problem] = []
    passages = list(read_corpus(corpus, kind, labels=names, on_problem=problems.append))
    if not passages:
        why = f". The first: {problems[0].message}" if problems else ""
        raise InputError(f"no passage of {corpus} can be read{why}")
    return passages, problems


def _show(whole: Evaluation, sources: dict[str, Evaluation]) -> None:
    from rich.console import Console  # noqa: PLC0415

    from histoeval.view.evaluation import evaluation_tables, source_table  # noqa: PLC0415

    console = Console()
    for table in evaluation_tables(whole):
        console.print(table)
    if sources:
        console.print(source_table(sources))


def _told(whole: Evaluation, sources: dict[str, Evaluation]) -> dict[str, Any]:
    told = whole.model_dump(mode="json")
    if sources:
        told["sources"] = {name: each.model_dump(mode="json") for name, each in sources.items()}
    return told


def _finish(problems: Sequence[Problem], passages: int) -> None:
    """Say what was left out; exit code 1 if anything was."""
    if not problems:
        return
    from rich.console import Console  # noqa: PLC0415

    from histoeval.view.corpus import refusal_table  # noqa: PLC0415

    typer.echo(f"{len(problems):,} of {len(problems) + passages:,} passages left out", err=True)
    Console(stderr=True).print(refusal_table(problems))
    raise typer.Exit(1)
