"""`histoeval evaluate`: evaluate models on annotated data, and metrics on probes."""

from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.entail import ModelOption
from histoeval.cli.evaluate.probes import probes
from histoeval.cli.evaluate.reader import reader
from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.models import AlignerOption, DeviceOption, EncoderOption, PoolingOption
from histoeval.cli.options.output import ResultsFile, demand_folder, print_tables, write_results
from histoeval.cli.options.statistics import OptionalResamples
from histoeval.errors import SettingError
from histoeval.evaluate.aligner import evaluate_aligner
from histoeval.evaluate.nli import evaluate_nli
from histoeval.evaluate.opposites import read_opposites
from histoeval.io.ontology.obo import Kind, read_ontology
from histoeval.io.writing import write_whole
from histoeval.nli.load import open_entailer
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.progress import step_progress
from histoeval.run.models import Models, load_aligner
from histoeval.train.aligner.names import listed
from histoeval.train.nli.data import labelled_sets
from histoeval.view.terminal.models import aligner_tables, grounding_tables, nli_tables

evaluate_app = typer.Typer(
    no_args_is_help=True, help="Evaluate models on annotated data, and metrics on probes."
)
evaluate_app.command()(probes)
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


@evaluate_app.command()
@verb
def grounding(
    tiles: Annotated[
        Path,
        option("Folder with index.jsonl and tar files of tiles.", exists=True, file_okay=False),
    ],
    split: Annotated[
        list[str] | None, option("Split to evaluate; can be repeated; test when omitted.")
    ] = None,
    model: Annotated[
        Path | None, option("Folder of a grounding model; the builtin one when omitted.")
    ] = None,
    encoder: EncoderOption = None,
    calibration: Annotated[
        Path | None,
        option("File for limits fitted to these tiles, for `histoeval trust --calibration`."),
    ] = None,
    output: ResultsFile = None,
) -> None:
    """Measure how well a grounding model recognises organs, malignancy and decoy claims on tiles.

    With --calibration limits are fitted to the tiles, which must be of cases that the encoder has
    not learned from: a foreign report is then supported in at most 5 % of cases.

    Examples:
      histoeval evaluate grounding --tiles tiles --split test
      histoeval evaluate grounding --tiles ours --split all --calibration own.json
    """
    from histoeval.evaluate.grounding import evaluate_grounding, phrases_told, tiles_of

    demand_folder(output)
    if calibration is not None:
        _calibrate(tiles, split or ["test"], model, encoder, calibration, output)
        return
    if encoder is not None:
        raise SettingError("--encoder goes with --calibration; a grounding model is --model FOLDER")
    loaded = BuiltinEncoder(model)
    results: dict[str, Any] = {}
    for name in split or ["test"]:
        with step_progress(f"looking at {name}", len(tiles_of(tiles, name))) as report:
            results[name] = evaluate_grounding(loaded, tiles, name, report)
    results["phrases"] = phrases_told(loaded)
    write_results(output, {"model": loaded.identity}, results)
    print_tables(grounding_tables(results))


def _calibrate(
    tiles: Path,
    splits: list[str],
    model: Path | None,
    named: str | None,
    file: Path,
    output: Path | None,
) -> None:
    """Fit limits to tiles, write them, and show what they give."""
    from histoeval.evaluate.grounding import calibrate, tiles_of
    from histoeval.pathgls.grounding.load import open_encoder

    if model is not None and named is not None:
        raise SettingError("give --model FOLDER or --encoder NAME, not both")
    demand_folder(file)
    encoder = open_encoder(str(model) if model else named)
    count = sum(len(tiles_of(tiles, name)) for name in splits)
    with step_progress("looking at tiles", count) as report:
        decisions, results = calibrate(encoder, tiles, splits, report)
    write_whole(file, f"{decisions.model_dump_json(indent=2)}\n".encode(), private=False)
    write_results(output, {"model": encoder.identity}, results)
    measured = {f"limits of {decisions.measured_on}": {"known tiles": results}}
    print_tables(grounding_tables(measured))
