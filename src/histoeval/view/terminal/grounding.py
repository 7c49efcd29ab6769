"""Tables on how well a grounding model tells organs, malignancy and foreign claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.train.grounding.card import figure_rows, sets_of


def grounding_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    """A table for each set of tiles."""
    for name, found in sets_of(scores):
        table = Table(title=Text(name), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
        table.add_column("figure", overflow="fold")
        table.add_column("value", justify="right")
        table.add_column("by organ or group", overflow="fold")
        for row in figure_rows(found):
            table.add_row(*map(Text, row))
        yield table
