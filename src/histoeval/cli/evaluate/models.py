"""`histoeval evaluate`: measure models on what people have annotated, and metrics on probes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from histoeval.cli.entail import ModelOption, load_entailer
from histoeval.cli.evaluate.probes import probes
from histoeval.cli.evaluate.reader import reader
from histoeval.cli.options.files import demand_folder
from histoeval.cli.options.models import MODELS, AlignerOption, DeviceOption
from histoeval.cli.options.output import FiguresOption, show, write_figures
from histoeval.io.ontology.obo import Kind

evaluate_app = typer.Typer(
    no_args_is_help=True,
    help="Measure models on what people have annotated, and metrics on probes.",
)
evaluate_app.command()(probes)
evaluate_app.command()(reader)


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
    output: FiguresOption = None,
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of concepts for the intervals; 0 for none.")
    ] = 1000,
) -> None:
    """Measure whether an aligner finds concepts by unseen names, and tells opposites apart."""
    from histoeval.evaluate.aligner import evaluate_aligner
    from histoeval.evaluate.opposites import read_opposites
    from histoeval.io.ontology.obo import read_ontology
    from histoeval.progress import step_progress
    from histoeval.run.models import Models, load_aligner
    from histoeval.train.aligner.names import listed
    from histoeval.view.terminal.aligner import aligner_tables

    demand_folder(output)
    concepts = list(read_ontology(ontology, kind))
    rows = read_opposites(opposites) if opposites else []
    loaded = load_aligner(Models(aligner=aligner, pooling=pooling, device=device))
    names = sum(len(named.names) for named in concepts)
    with step_progress(f"embedding {ontology.name}", names) as tell:
        found = evaluate_aligner(
            loaded,
            concepts,
            rows,
            held_out=held_out,
            known=listed(),
            resamples=resamples,
            report=tell,
        )
    told = found.model_dump(mode="json")
    write_figures(output, {"ontology": ontology.name, "aligner": loaded.identity}, told)
    show(aligner_tables(told))


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
    output: FiguresOption = None,
) -> None:
    """Measure whether an NLI model tells entailment, neutral and contradiction."""
    from histoeval.evaluate.nli import evaluate_nli
    from histoeval.progress import step_progress
    from histoeval.train.nli.data import labelled_sets
    from histoeval.view.terminal.nli import nli_tables

    demand_folder(output)
    sets = labelled_sets(general, pairs)
    loaded = load_entailer(model, device)
    told: dict[str, Any] = {}
    for name, some in sets.items():
        with step_progress(f"judging {name}", len(some)) as tell:
            told[name] = evaluate_nli(loaded, some, tell).model_dump(mode="json")
    write_figures(output, {"model": loaded.identity}, told)
    show(nli_tables(told))


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
    output: FiguresOption = None,
) -> None:
    """Measure whether a grounding model tells organs, malignancy and foreign claims on tiles."""
    from histoeval.evaluate.grounding import (
        evaluate_grounding,
        phrases_told,
        tiles_of,
    )
    from histoeval.progress import step_progress
    from histoeval.trust.grounding.builtin import BuiltinEncoder
    from histoeval.view.terminal.grounding import grounding_tables

    demand_folder(output)
    encoder = BuiltinEncoder(model)
    told: dict[str, Any] = {}
    for name in split or ["test"]:
        with step_progress(f"looking at {name}", len(tiles_of(tiles, name))) as tell:
            told[name] = evaluate_grounding(encoder, tiles, name, tell)
    told["phrases"] = phrases_told(encoder)
    write_figures(output, {"model": encoder.identity}, told)
    show(grounding_tables(told))
