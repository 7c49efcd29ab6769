"""Tables as titles, columns and rows of text, for a terminal, for Markdown and for a page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Literal, NamedTuple

from rich import table as rich_table
from rich.box import SIMPLE_HEAD
from rich.text import Text


class ResultTable(NamedTuple):
    """One table: the first column names the row, the others hold its figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def terminal_table(told: ResultTable) -> rich_table.Table:
    """For a terminal."""
    table = rich_table.Table(
        title=Text(told.title), title_justify="left", box=SIMPLE_HEAD, show_edge=False
    )
    for place, column in enumerate(told.columns):
        side: Literal["left", "right"] = "right" if _is_figures(told, place) else "left"
        table.add_column(Text(column), justify=side, overflow="fold")
    for row in told.rows:
        table.add_row(*map(Text, row))
    return table


def markdown(told: ResultTable) -> str:
    """For a document: the title in bold above the table."""
    lines = [told.columns, ["---"] * len(told.columns), *told.rows]
    body = "\n".join(f"| {' | '.join(_in_cell(cell) for cell in row)} |" for row in lines)
    return f"**{told.title}**\n\n{body}"


def html_table(told: ResultTable) -> str:
    """For a page."""
    head = "".join(f"<th>{escape(column)}</th>" for column in told.columns)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in told.rows
    )
    return (
        f"<table><caption>{escape(told.title)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table>"
    )


def footnotes(reasons: Iterable[tuple[str, str | None]]) -> list[str]:
    """Why figures are missing, each reason once with all that it holds for."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason is not None:
            found.setdefault(reason, []).append(name)
    return [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in found.items()]


def _is_figures(told: ResultTable, place: int) -> bool:
    """Whether a column holds numbers, and not words."""
    cells = [row[place] for row in told.rows]
    return place > 0 and all(cell == "none" or cell[:1] in "-0123456789" for cell in cells)


def _in_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
