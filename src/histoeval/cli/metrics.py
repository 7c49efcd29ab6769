"""`histoeval metrics`: what there is, what it needs, and whether it can run here."""

from __future__ import annotations


def metrics() -> None:
    """List the metrics: range, direction, what they need, and whether they can run here."""
    from rich.console import Console  # noqa: PLC0415 - keeps --help fast
    from rich.text import Text  # noqa: PLC0415

    from histoeval.score import METRICS, create  # noqa: PLC0415
    from histoeval.view.terminal import plain_table  # noqa: PLC0415

    made = {name: create(name) for name in METRICS}
    rows = [
        [
            name,
            entry.summary,
            "{:g} to {:g}".format(*made[name].range),
            "higher" if made[name].higher_is_better else "lower",
            "no, see below" if made[name].obstacle() else "yes",
        ]
        for name, entry in METRICS.items()
    ]
    console = Console()
    console.print(plain_table(["metric", "compares", "range", "better", "runs here"], rows))
    for name, metric in made.items():
        if reason := metric.obstacle():
            console.print(Text.assemble((name, "bold"), f" {reason}"))
