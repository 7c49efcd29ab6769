"""Tables on how well an NLI model tells entailment, neutral and contradiction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.evaluate.nli import COLUMNS, score_rows


def nli_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A table for each set of pairs, and one line on calibration."""
    for name, found in scores.items():
        table = Table(title=Text(name), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
        for place, column in enumerate(COLUMNS):
            table.add_column(column, justify="right" if place else "left", overflow="fold")
        for row in score_rows(found):
            table.add_row(*map(Text, row))
        yield table
        sure = found["calibration"]
        yield Text(
            f"confidence {sure['confidence']:.3f}, accuracy {sure['accuracy']:.3f}, "
            f"calibration error {sure['error']:.3f}\n"
        )
