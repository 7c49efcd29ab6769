"""What a shell offers for the values of options when Tab is pressed."""

from typing import Any

from histoeval.cli.options.bundle import option
from histoeval.metrics.registry import metric_entries


def complete_metrics(incomplete: str) -> list[tuple[str, str]]:
    """Every metric in place of the last name of a list with commas, each with what it compares."""
    before, comma, _ = incomplete.rpartition(",")
    return [(f"{before}{comma}{name}", each.summary) for name, each in metric_entries().items()]


def metric_option(text: str) -> Any:
    """An option that takes metrics by name, which a shell completes."""
    return option(text, autocompletion=complete_metrics)
