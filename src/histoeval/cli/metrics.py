"""`histoeval metrics`: the metrics, what they need, and whether they can run here."""

from importlib.util import find_spec

from rich.text import Text

from histoeval.cli.options.bundle import verb
from histoeval.cli.options.output import print_tables
from histoeval.errors import HistoEvalError
from histoeval.metric import Metric
from histoeval.metrics.registry import metric_entries, models_of
from histoeval.run.models import load_metrics
from histoeval.view.terminal.scores import plain_table, range_text


@verb
def metrics() -> None:
    """List the metrics: range, direction, what they need, and whether they can run here.

    Examples:
      histoeval metrics
    """
    rows, reasons = [], []
    for name, entry in metric_entries().items():
        try:
            (metric,) = load_metrics([name])
        except HistoEvalError as error:  # a broken plug-in does not hide the other metrics
            rows.append([name, entry.summary, "", "", entry.needs, "no"])
            reasons.append(Text.assemble((name, "bold"), f" {error}"))
            continue
        better = "higher" if metric.higher_is_better else "lower"
        bounds = range_text(*metric.range)
        rows.append([name, entry.summary, bounds, better, entry.needs, _state(metric)])
        if reason := metric.unavailable_reason():
            reasons.append(Text.assemble((name, "bold"), f" {reason}"))
    columns = ["metric", "compares", "range", "better", "needs", "runs here"]
    print_tables([plain_table(columns, rows), *reasons])


def _state(metric: Metric) -> str:
    """Whether it runs as it is, once its models or its judge are named, or not at all."""
    if metric.unavailable_reason() is None:
        return "yes"
    if models_of(metric) == ("judge",):
        return "if named"
    hf = all(find_spec(name) is not None for name in ("torch", "transformers"))
    return "with models" if models_of(metric) and hf else "no"
