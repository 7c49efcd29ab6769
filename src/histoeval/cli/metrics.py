"""`histoeval metrics`: the metrics, what they need, and whether they can run here."""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from rich.text import Text

from histoeval.cli.output import print_tables
from histoeval.cli.verb import verb
from histoeval.metrics.registry import metric_entries
from histoeval.run.doctor import READY, MetricState, metric_details, metric_states, plug_in_problems
from histoeval.run.settings import complete_metrics
from histoeval.settings import Option
from histoeval.table import ResultTable
from histoeval.view.terminal.scores import range_text

_ENDING = re.compile(r"(\d|f1|precision|recall)$")


@verb
def metrics(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Metrics to show in full; all when omitted.",
            autocompletion=complete_metrics,
        ),
    ] = None,
    everything: Annotated[
        bool, Option("Each metric with its range, and why it cannot run.", name="--all")
    ] = False,
) -> None:
    """List the metrics, and whether they can run here.

    Examples:
      histoeval metrics
      histoeval metrics meteor
    """
    if names or everything:
        print_tables(_in_full(names or list(metric_entries())))
        return
    states = metric_states()
    families: dict[tuple[str, ...], list[MetricState]] = {}
    for member in states:  # those that differ in their ending only, such as bleu_1 to bleu_4
        family = tuple(_ENDING.sub("n", text) for text in member)
        families.setdefault(family, []).append(member)
    rows = []
    for (_, summary, state), members in families.items():
        name, compared = members[0].name, members[0].summary
        if len(members) > 1:
            name, compared = f"{name} …", summary.removesuffix(": n")
        rows.append([name, compared, state])
    ready = sum(state.state == READY for state in states)
    more = "More: histoeval metrics NAME, or --all."
    line = Text(f"\n{ready} of {len(states)} metrics are ready. {more}")
    broken = [Text(problem[:1].upper() + problem[1:]) for problem in plug_in_problems()]
    print_tables([ResultTable("", ["metric", "compares", "runs here"], rows), line, *broken])


def _in_full(names: Sequence[str]) -> Iterator[Text]:
    for name in names:
        metric, reason = metric_details(name)
        if metric is None:
            yield Text.assemble((name, "bold"), f" {reason}")
            continue
        better = "higher" if metric.higher_is_better else "lower"
        yield Text.assemble(
            (name, "bold"), f"  {range_text(*metric.range)}, {better} is better. {metric.signature}"
        )
        if reason:
            yield Text(f"  It {reason}")
        if untested := metric_entries()[name.partition(":")[0]].untested:
            yield Text(f"  Untested: {untested}")
