"""`histoeval evaluate probes`: do metrics penalise harmful edits more than harmless ones?"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.completion import metric_option
from histoeval.cli.options.models import MetricModels
from histoeval.cli.options.output import (
    LookOption,
    ResultsFile,
    demand_folder,
    print_tables,
    write_results,
)
from histoeval.cli.options.statistics import OptionalResamples
from histoeval.errors import Problem, SettingError
from histoeval.evaluate.probe_scores import figures_of
from histoeval.evaluate.probes import pairs_of, read_probes, shipped
from histoeval.io.tables.encoding import survey
from histoeval.metric import Metric, Score
from histoeval.progress import OnStep, step_progress
from histoeval.report import Pair
from histoeval.run.models import load_metrics, metric_names
from histoeval.run.pipeline import answers
from histoeval.view.terminal.probes import probe_markdown, probe_tables, remarks

DEFAULT_METRICS = "concordance,hare,bleu,rouge_l"
PAIR_BATCH = 128
"""Pairs that a metric is given at once."""


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
    models: MetricModels = MetricModels(),
    output: ResultsFile = None,
    look: LookOption = "table",
    resamples: OptionalResamples = 1000,
    seed: Annotated[int, option("Random seed of the resamples.", min=0)] = 0,
) -> None:
    """Measure how far metrics fall on harmless and on harmful edits of a reference.

    Exit code 0: every edit was scored by every metric; 1: some were not, and are counted; 2:
    nothing could be done.

    Examples:
      histoeval evaluate probes --metrics concordance,bleu
    """
    demand_folder(output)
    chosen = metric_names(metrics)
    file = file or shipped()
    some = read_probes(file)
    able, unavailable = _able(load_metrics(chosen, models.models()))
    pairs = pairs_of(some)
    results = []
    with step_progress(f"scoring {file.name}", len(pairs) * len(able)) as report:
        for place, metric in enumerate(able):
            scores = list(_scores(metric, pairs, report, place * len(pairs)))
            results.append(figures_of(metric, some, scores, resamples=resamples, seed=seed))
    header = {"probes": file.name, "sha256": survey(file).sha256}
    content = {
        "resamples": resamples,
        "seed": seed,
        "unavailable": unavailable,
        "metrics": [each.model_dump(mode="json") for each in results],
    }
    write_results(output, header, content)
    if look == "markdown":
        typer.echo(probe_markdown(results))
    else:
        print_tables(probe_tables(results))
    for remark in remarks(results, unavailable):
        typer.echo(remark, err=True)
    if unavailable or any(each.missing for each in results):
        raise typer.Exit(1)


def _able(metrics: Sequence[Metric]) -> tuple[list[Metric], dict[str, str]]:
    """The metrics that can run here, and why the others cannot."""
    reasons = {
        each.name: reason for each in metrics if (reason := each.unavailable_reason()) is not None
    }
    if len(reasons) == len(metrics):
        raise SettingError("\n".join(f"{name} {reason}" for name, reason in reasons.items()))
    return [each for each in metrics if each.name not in reasons], reasons


def _scores(
    metric: Metric, pairs: Sequence[Pair], report: OnStep, before: int
) -> Iterator[Score | Problem]:
    """The score of each pair; a pair that fails does not affect the others."""

    def failed(message: str) -> Problem:
        """Stands for the score of a pair that the metric failed on."""
        return Problem(code="metric_failed", metric=metric.name, message=message)

    for first in range(0, len(pairs), PAIR_BATCH):
        few = pairs[first : first + PAIR_BATCH]
        yield from answers(metric.score, few, failed)
        report(before + first + len(few), metric.name)
