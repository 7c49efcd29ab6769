"""`histoeval metrics`: what there is, what it needs, and whether it can run here."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from histoeval.metric import Metric


def metrics() -> None:
    """List the metrics: range, direction, what they need, and whether they can run here."""
    from rich.console import Console
    from rich.text import Text

    from histoeval.metrics.registry import METRICS
    from histoeval.run.scoring import make_metrics
    from histoeval.view.terminal.scores import plain_table, range_text

    made = dict(zip(METRICS, make_metrics(list(METRICS)), strict=True))
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
    console = Console()
    console.print(
        plain_table(["metric", "compares", "range", "better", "needs", "runs here"], rows)
    )
    for name, metric in made.items():
        if reason := metric.unavailable_reason():
            console.print(Text.assemble((name, "bold"), f" {reason}"))


def _state(metric: Metric) -> str:
    """Whether it runs as it is, once its models or its judge are named, or not at all."""
    from histoeval.metrics.registry import models_of

    if metric.unavailable_reason() is None:
        return "yes"
    if models_of(metric) == ("judge",):
        return "if named"
    hf = all(find_spec(name) is not None for name in ("torch", "transformers"))
    return "with models" if models_of(metric) and hf else "no"
