"""Tables on how well an aligner finds concepts and tells opposites apart."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from histoeval.train.aligner.card import (
    OPPOSITE_COLUMNS,
    RETRIEVAL_COLUMNS,
    opposite_rows,
    retrieval_rows,
)


def aligner_tables(scores: Mapping[str, Any]) -> Iterator[RenderableType]:
    """Concepts found by names that were never learned, and opposites told apart."""
    title = f"Concepts found by unseen names, among {scores['concepts']:,}"
    yield _table(title, RETRIEVAL_COLUMNS, retrieval_rows(scores))
    if scores["opposites"]:
        yield _table("Opposites told apart", OPPOSITE_COLUMNS, opposite_rows(scores))


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, show_edge=False)
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
