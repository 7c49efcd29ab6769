"""Tables of results, and their renderers for a terminal, for Markdown and for HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

T = TypeVar("T")

NARROW = 80
"""Columns of a terminal in which numbers should not be broken."""

NONE = "none"
"""Shown in place of a missing number."""

_NO_NUMBER = {"", NONE, "unknown"}


class ResultTable(NamedTuple):
    """A title, columns and rows; the first column names the row. Styled cells are rich texts."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]

    @classmethod
    def of(
        cls, title: str, items: Iterable[T], columns: Mapping[str, Callable[[T], str | Text]]
    ) -> ResultTable:
        """A row for each item; `columns` say how to write it in each column."""
        rows = [[cell(item) for cell in columns.values()] for item in items]
        return cls(title, list(columns), rows)


def terminal_table(table: ResultTable) -> Table:
    """Render a table for a terminal; numbers are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    shown = Table(
        title=Text(table.title),
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    numeric = _numeric_columns(table)
    widths = [_longest_word(row[at] for row in table.rows) for at in range(len(table.columns))]
    fits = sum(widths) + 2 * len(widths) <= NARROW
    for column, is_numeric, width in zip(table.columns, numeric, widths, strict=True):
        shown.add_column(
            Text(column),
            justify="right" if is_numeric else "left",
            overflow="fold",
            min_width=width if is_numeric and fits else None,
        )
    for row in table.rows:
        shown.add_row(*[Text(cell) if isinstance(cell, str) else cell for cell in row])
    return shown


def markdown(table: ResultTable) -> str:
    """Render a table for Markdown, with its title in bold above it."""
    return f"**{markdown_text(table.title)}**\n\n{markdown_table(table.columns, table.rows)}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> str:
    """Render rows for Markdown, without a title."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(_markdown_cell(cell) for cell in line)} |" for line in lines)


def html_table(table: ResultTable) -> str:
    """Render a table for HTML; all texts are escaped, and numbers have the class `n`."""
    from markupsafe import Markup

    numeric = _numeric_columns(table)

    def line(tag: str, cells: Sequence[str | Text]) -> Markup:
        shown = [
            Markup("<{0}{1}>{2}</{0}>").format(
                tag, Markup(' class="n"') if right else "", str(cell)
            )
            for cell, right in zip(cells, numeric, strict=True)
        ]
        return Markup("<tr>{}</tr>").format(Markup("").join(shown))

    caption = Markup("<caption>{}</caption>").format(table.title) if table.title else ""
    return Markup("<table>{}\n<thead>{}</thead>\n<tbody>\n{}\n</tbody></table>").format(
        caption, line("th", table.columns), Markup("\n").join(line("td", row) for row in table.rows)
    )


def footnotes(reasons: Iterable[tuple[str, str | None]]) -> list[str]:
    """Why results are missing: each reason once, with the names of all that it applies to."""
    found: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason is not None:
            found.setdefault(reason, []).append(name)
    return [f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in found.items()]


def number(value: float | None, digits: int = 3) -> str:
    """A number for a cell, without a negative zero; `none` if it is missing."""
    return NONE if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _numeric_columns(table: ResultTable) -> list[bool]:
    """Which columns contain numbers and no words."""
    return [
        place > 0 and all(_is_number(str(row[place])) for row in table.rows)
        for place in range(len(table.columns))
    ]


def _is_number(cell: str) -> bool:
    return cell in _NO_NUMBER or cell.lstrip("~+-<")[:1].isdigit()


def _longest_word(cells: Iterable[str | Text]) -> int:
    return max((len(word) for cell in cells for word in str(cell).split()), default=0)


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: without HTML, links and images of its own."""
    return re.sub(r"<(?=[A-Za-z/!?])|(?<=\])(?=\()", lambda found: "\\" + found.group(), text)


def _markdown_cell(cell: str | Text) -> str:
    return markdown_text(str(cell)).replace("|", "\\|").replace("\n", " ")
