"""Tables of results, and their renderers for a terminal, for Markdown and for HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.table import Table
    from rich.text import Text

T = TypeVar("T")
GAP = 2  # columns of a terminal between two columns of a table
# a word of prose up to this length is not broken, an address or path only up to the other
WORD, ADDRESS = 30, 20
NONE = "none"  # shown in place of a missing number
_NO_NUMBER = {"", NONE, "unknown"}


class ResultTable(NamedTuple):
    """A title, columns and rows; the first column names the row. Styled cells are rich texts.

    A terminal of any width shows it without a break in a word of a header or in a number, and
    numbers to the right. Columns that do not fit side by side follow below, each block with the
    columns before it that tell rows apart.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | Text]]

    @classmethod
    def of(
        cls, title: str, items: Iterable[T], columns: Mapping[str, Callable[[T], str | Text]]
    ) -> ResultTable:
        """Make a table with a row for each item; `columns` hold a renderer for each column."""
        rows = [[cell(item) for cell in columns.values()] for item in items]
        return cls(title, list(columns), rows)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.text import Text

        if self.title:
            yield Text(self.title, style="table.title")
        for columns, widths in self._blocks(options.max_width):
            yield self._block(columns, widths)

    def _blocks(self, width: int) -> Iterator[tuple[list[int], list[int]]]:
        """Yield for each block the positions of its columns and their widths."""
        needed, widest = self._widths(width)
        names = self._names()
        if sum(needed[column] + GAP for column in names) > width * 3 // 4:
            names = names[:1]
        block = [0]
        for column in range(1, len(self.columns)):
            is_too_wide = sum(needed[position] + GAP for position in [*block, column]) > width
            if is_too_wide and block not in ([0], names):
                yield block, _shared_out(block, needed, widest, width)
                block = names
            if column not in block:
                block = [*block, column]
        yield block, _shared_out(block, needed, widest, width)

    def _names(self) -> list[int]:
        """Return the columns that tell rows apart: the first, and columns of words as needed."""
        names, different = [0], self._different([0])
        for column, is_numeric in enumerate(_numeric_columns(self)):
            if is_numeric or different == len(self.rows):
                break
            if (more := self._different([*names, column])) > different:
                names, different = [*names, column], more
        return names if different == len(self.rows) else [0]

    def _different(self, columns: Sequence[int]) -> int:
        return len({tuple(str(row[column]) for column in columns) for row in self.rows})

    def _widths(self, width: int) -> tuple[list[int], list[int]]:
        """Return for each column the width at which no word is broken, and its full width."""
        from rich.cells import cell_len

        needed, widest = [], []
        for column, header in enumerate(self.columns):
            cells = [header, *(str(row[column]) for row in self.rows)]
            words = [word for cell in cells for word in cell.split()]
            limits = [ADDRESS if "/" in word else WORD for word in words]
            unbroken = map(min, map(cell_len, words), limits)
            needed.append(min(max(unbroken, default=0), width // 2))
            widest.append(
                max((cell_len(s) for cell in cells for s in cell.splitlines()), default=0)
            )
        return needed, widest

    def _block(self, columns: Sequence[int], widths: Sequence[int]) -> Table:
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        shown = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        numeric = _numeric_columns(self)
        for column, width in zip(columns, widths, strict=True):
            shown.add_column(
                Text(self.columns[column]),
                justify="right" if numeric[column] else "left",
                overflow="fold",
                width=width,
            )
        for row in self.rows:
            cells = [row[column] for column in columns]
            shown.add_row(*[Text(cell) if isinstance(cell, str) else cell for cell in cells])
        return shown


def _shared_out(
    block: Sequence[int], needed: Sequence[int], widest: Sequence[int], width: int
) -> list[int]:
    """Return widths that fit a terminal of this width; the widest columns give way first."""
    for most in range(width, 0, -1):
        widths = [max(needed[column], min(widest[column], most)) for column in block]
        if sum(widths) + GAP * len(block) - 1 <= width:
            return widths
    return [needed[column] for column in block]


def markdown(table: ResultTable) -> str:
    return f"**{markdown_text(table.title)}**\n\n{markdown_table(table.columns, table.rows)}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> str:
    lines = []
    for row in (columns, ["---"] * len(columns), *rows):
        cells = [markdown_text(str(cell)).replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def tables_in_markdown(text: str) -> Iterator[ResultTable]:
    """Parse the tables of a text that `markdown` has written."""
    title, rows = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            cells = re.split(r"(?<!\\) \| ", line[2:].removesuffix(" |"))
            rows.append([re.sub(r"\\([|<(])", r"\1", cell) for cell in cells])
        elif rows:
            yield ResultTable(title, rows[0], rows[2:])
            title, rows = "", []
        if line.startswith("**"):
            title = re.sub(r"\\([|<(])", r"\1", line.strip("*"))


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
    """List the reasons for missing results, each once with the names that it applies to."""
    names_by_reason: dict[str, list[str]] = {}
    for name, reason in reasons:
        if reason is not None:
            names_by_reason.setdefault(reason, []).append(name)
    return [
        f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in names_by_reason.items()
    ]


def number(value: float | None, digits: int = 3) -> str:
    """Format a number for a cell, without a negative zero; `none` if it is missing."""
    return NONE if value is None else f"{round(value, digits) + 0.0:.{digits}f}"


def _numeric_columns(table: ResultTable) -> list[bool]:
    """True for each column that contains numbers and no words."""
    columns = [[str(row[column]) for row in table.rows] for column in range(len(table.columns))]
    return [
        column > 0 and all(c in _NO_NUMBER or c.lstrip("~+-<")[:1].isdigit() for c in cells)
        for column, cells in enumerate(columns)
    ]


def markdown_text(text: str) -> str:
    """Escape text, so that Markdown makes no HTML, link or image of it."""
    return re.sub(r"<(?=[A-Za-z/!?])|(?<=\])(?=\()", lambda match: "\\" + match.group(), text)
