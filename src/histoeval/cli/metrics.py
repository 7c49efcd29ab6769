"""`histoeval metrics`: the metrics, what they need, and whether they can run here."""

from __future__ import annotations

from importlib.util import find_spec

from rich.text import Text

from histoeval.cli.options.bundle import verb
from histoeval.cli.options.output import print_tables
from histoeval.metric import Metric
from histoeval.metrics.registry import METRICS, models_of
from histoeval.run.models import load_metrics
from histoeval.view.terminal.scores import plain_table, range_text


@verb
def metrics() -> None:
    """List the metrics: range, direction, what they need, and whether they can run here.

    Examples:
      histoeval metrics
    """
    made = dict(zip(METRICS, load_metrics(list(METRICS)), strict=True))
    rows = [
        [
            name,
            entry.summary,
            range_text(*made[name].range),
            "higher" if made[name].higher_is_better else "lower",
            entry.needs,
            _state(made[name]),
        ]
        for name, entry in METRICS.items()
    ]
    columns = ["metric", "compares", "range", "better", "needs", "runs here"]
    reasons = (
        Text.assemble((name, "bold"), f" {reason}")
        for name, metric in made.items()
        if (reason := metric.unavailable_reason())
    )
    print_tables([plain_table(columns, rows), *reasons])


def _state(metric: Metric) -> str:
    """Whether it runs as it is, once its models or its judge are named, or not at all."""
    if metric.unavailable_reason() is None:
        return "yes"
    if models_of(metric) == ("judge",):
        return "if named"
    hf = all(find_spec(name) is not None for name in ("torch", "transformers"))
    return "with models" if models_of(metric) and hf else "no"
