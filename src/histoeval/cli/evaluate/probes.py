"""`histoeval evaluate probes`: do metrics take more where an edit does more harm?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from histoeval.cli.options.bundle import ModelNames, spread
from histoeval.cli.options.files import demand_folder, write_lines
from histoeval.errors import Problem, SettingError
from histoeval.version import __version__

if TYPE_CHECKING:
    from histoeval.evaluate.probe_scores import ProbeFigures
    from histoeval.metric import Metric, Score
    from histoeval.progress import OnStep
    from histoeval.report import Pair

PROBED = "concordance,hare,bleu,rouge_l"
AT_ONCE = 128
"""Pairs that a metric is given together."""


@spread
def probes(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="JSON lines of id, reference and edits, each with kind, effect, severity and "
            "text; also .gz. Our own probes when left out.",
            show_default=False,
        ),
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Names with commas between, as for `histoeval score`.")
    ] = PROBED,
    models: ModelNames = ModelNames(),
    output: Annotated[
        Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
    ] = None,
    look: Annotated[
        Literal["table", "markdown"], typer.Option("--format", help="How the tables are printed.")
    ] = "table",
    resamples: Annotated[
        int, typer.Option(min=0, help="Resamples of references for the intervals; 0 for none.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Another seed draws other resamples.")] = 0,
) -> None:
    """Measure what metrics take for harmless and for harmful edits of a reference.

    Exit code 0: every edit was scored by every metric; 1: some were not, and are counted; 2:
    nothing could be done.
    """
    from histoeval.evaluate.probe_scores import figures_of
    from histoeval.evaluate.probes import pairs_of, read_probes, shipped
    from histoeval.io.tables.encoding import survey
    from histoeval.progress import step_progress
    from histoeval.run.scoring import make_metrics, metric_names

    demand_folder(output)
    wanted = metric_names(metrics)
    file = file or shipped()
    some = read_probes(file)
    able, unavailable = _able(make_metrics(wanted, models.models()))
    pairs = pairs_of(some)
    figures = []
    with step_progress(f"scoring {file.name}", len(pairs) * len(able)) as tell:
        for place, metric in enumerate(able):
            answers = list(_answers(metric, pairs, tell, place * len(pairs)))
            figures.append(figures_of(metric, some, answers, resamples=resamples, seed=seed))
    if output is not None:
        told = {
            "probes": file.name,
            "sha256": survey(file).sha256,
            "histoeval": __version__,
            "resamples": resamples,
            "seed": seed,
            "unavailable": unavailable,
            "metrics": [each.model_dump(mode="json") for each in figures],
        }
        write_lines(output, [json.dumps(told, indent=2, ensure_ascii=False)])
    _show(figures, unavailable, look)
    if unavailable or any(each.missing for each in figures):
        raise typer.Exit(1)


def _able(metrics: Sequence[Metric]) -> tuple[list[Metric], dict[str, str]]:
    """The metrics that can run here, and why the others cannot."""
    reasons = {
        each.name: reason for each in metrics if (reason := each.unavailable_reason()) is not None
    }
    if len(reasons) == len(metrics):
        raise SettingError("\n".join(f"{name} {reason}" for name, reason in reasons.items()))
    return [each for each in metrics if each.name not in reasons], reasons


def _answers(
    metric: Metric, pairs: Sequence[Pair], tell: OnStep, before: int
) -> Iterator[Score | Problem]:
    """What a metric says of each pair; a pair that it breaks on costs the others nothing."""
    from histoeval.run.pipeline import answers

    def failed(message: str) -> Problem:
        """What stands in place of a score where the metric broke."""
        return Problem(code="metric_failed", metric=metric.name, message=message)

    for first in range(0, len(pairs), AT_ONCE):
        few = pairs[first : first + AT_ONCE]
        yield from answers(metric.score, few, failed)
        tell(before + first + len(few), metric.name)


def _show(figures: Sequence[ProbeFigures], unavailable: dict[str, str], look: str) -> None:
    from rich.console import Console

    from histoeval.view.terminal.probes import probe_markdown, probe_tables, remarks

    if look == "markdown":
        typer.echo(probe_markdown(figures))
    else:
        console = Console()
        for table in probe_tables(figures):
            console.print(table)
    for remark in remarks(figures, unavailable):
        typer.echo(remark, err=True)
