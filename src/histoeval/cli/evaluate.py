"""`histoeval evaluate probes` and `grounding`: metrics on edits, and the encoder on tiles."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import LookOption, ResultsFile, demand_folder, print_tables, write_results
from histoeval.cli.verb import verb
from histoeval.errors import Problem, SettingError
from histoeval.evaluate.probe_scores import figures_of
from histoeval.evaluate.probes import pairs_of, read_probes, shipped
from histoeval.io.tables.encoding import survey
from histoeval.io.writing import write_whole
from histoeval.metric import Score
from histoeval.pathgls.grounding.builtin import BuiltinEncoder
from histoeval.progress import step_progress
from histoeval.run.models import SCORING, EncoderName, Models, load_metrics, metric_names
from histoeval.run.pipeline import answers
from histoeval.run.settings import OptionalResamples, metric_option
from histoeval.settings import Option
from histoeval.view.terminal.evaluation import grounding_tables, probe_tables, remarks

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l"
PAIR_BATCH = 128  # pairs that a metric is given at once


evaluate_app = typer.Typer(
    no_args_is_help=True,
    help="Evaluate metrics on probes, and models on annotated data (reader, aligner and nli with "
    "`pip install 'histoeval[research]'`).",
)


@evaluate_app.command()
@verb
def probes(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="JSON lines of id, reference and edits, each with kind, effect, severity and "
            "text; also .gz. The shipped probes when omitted."
        ),
    ] = None,
    metrics: Annotated[
        str, metric_option("Metrics, separated by commas, as for `histoeval score`.")
    ] = DEFAULT_METRICS,
    *,
    models: Annotated[Models, Option("", only=SCORING)],
    output: ResultsFile = None,
    look: LookOption = "table",
    resamples: OptionalResamples = 1000,
    seed: Annotated[int, Option("Random seed of the resamples.", min=0)] = 0,
) -> None:
    """Measure how far metrics fall on harmless and on harmful edits of a reference.

    Exit code 0: every edit was scored by every metric; 1: some were not, and are counted; 2:
    nothing could be done.

    Examples:
      histoeval evaluate probes --metrics concordance,bleu
    """
    demand_folder(output)
    chosen = load_metrics(metric_names(metrics), models)
    reasons = {metric.name: metric.unavailable_reason() for metric in chosen}
    unavailable = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(unavailable) == len(chosen):
        raise SettingError("\n".join(f"{name} {reason}" for name, reason in unavailable.items()))
    able = [metric for metric in chosen if metric.name not in unavailable]
    file = file or shipped()
    probe_set = read_probes(file)
    pairs = pairs_of(probe_set)
    results = []
    with step_progress(f"scoring {file.name}", len(pairs) * len(able)) as report:
        for index, metric in enumerate(able):
            scores: list[Score | Problem] = []
            failed = partial(Problem, "metric_failed", metric=metric.name)
            for first in range(0, len(pairs), PAIR_BATCH):
                scores += answers(metric.score, pairs[first : first + PAIR_BATCH], failed)
                report(index * len(pairs) + len(scores), metric.name)
            results.append(figures_of(metric, probe_set, scores, resamples=resamples, seed=seed))
    header = {"probes": file.name, "sha256": survey(file).sha256}
    content = {
        "resamples": resamples,
        "seed": seed,
        "unavailable": unavailable,
        "metrics": [figures.model_dump(mode="json") for figures in results],
    }
    write_results(output, header, content)
    print_tables(probe_tables(results), look)
    for remark in remarks(results, unavailable):
        typer.echo(remark, err=True)
    if unavailable or any(figures.missing for figures in results):
        raise typer.Exit(1)


@evaluate_app.command()
@verb
def grounding(
    tiles: Annotated[
        Path,
        Option("Folder with index.jsonl and tar files of tiles.", exists=True, file_okay=False),
    ],
    split: Annotated[list[str] | None, Option("Split; can be repeated; test when omitted.")] = None,
    model: Annotated[Path | None, Option("A grounding model's folder; builtin if omitted.")] = None,
    encoder: EncoderName = None,
    calibration: Annotated[
        Path | None,
        Option("File for limits fitted to these tiles, for `histoeval trust --calibration`."),
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
    from histoeval.evaluate import grounding as measure
    from histoeval.pathgls.grounding.load import open_encoder

    demand_folder(output)
    splits = split or ["test"]
    if calibration is not None:
        if model is not None and encoder is not None:
            raise SettingError("give --model FOLDER or --encoder NAME, not both")
        demand_folder(calibration)
        named = open_encoder(str(model) if model else encoder)
        count = sum(len(measure.tiles_of(tiles, name)) for name in splits)
        with step_progress("looking at tiles", count) as report:
            limits, results = measure.calibrate(named, tiles, splits, report)
        content = f"{limits.model_dump_json(indent=2)}\n".encode()
        write_whole(calibration, content, private=False)
        write_results(output, {"model": named.identity}, results)
        tables = {f"limits of {limits.measured_on}": {"known tiles": results}}
        print_tables(grounding_tables(tables))
        return
    if encoder is not None:
        raise SettingError("--encoder goes with --calibration; a grounding model is --model FOLDER")
    loaded, results = BuiltinEncoder(model), {}
    for name in splits:
        with step_progress(f"looking at {name}", len(measure.tiles_of(tiles, name))) as report:
            results[name] = measure.evaluate_grounding(loaded, tiles, name, report)
    results["phrases"] = measure.phrases_told(loaded)
    write_results(output, {"model": loaded.identity}, results)
    print_tables(grounding_tables(results))
