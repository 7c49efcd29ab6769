"""Reads tables back from the text that a terminal shows."""

import re
from io import StringIO

from rich.console import Console, RenderableType

RULE = re.compile(r"^[─ ]*─[─ ]*$")


def table_rows(text: str, title: str = "") -> dict[str, list[str]]:
    """The cells of each row by its first cell; of all tables, or of the first with this title."""
    found: dict[str, list[str]] = {}
    inside = False
    wanted = not title
    for line in text.splitlines():
        cells = re.split(r"  +", line.strip())
        if RULE.match(line):
            inside = True
        elif inside and len(cells) > 1:
            if wanted:
                found.setdefault(cells[0], cells[1:])
        else:
            if inside and wanted and title:
                return found
            inside = False
            wanted = not title or wanted or line.startswith(title)
    return found


def shown(table: RenderableType, width: int = 80) -> str:
    """What a terminal of this width shows of a table."""
    stream = StringIO()
    Console(file=stream, width=width).print(table)
    return stream.getvalue()
