"""What the verbs of `histoeval evaluate` share: where figures go, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from histoeval.cli.options.files import write_lines
from histoeval.version import __version__

FiguresOption = Annotated[
    Path | None, typer.Option(help="JSON file for all figures.", show_default=False)
]


def write_figures(
    output: Path | None, header: Mapping[str, Any], figures: Mapping[str, Any]
) -> None:
    """Write figures, if there is a file for them, with what was measured on what before them."""
    if output is not None:
        told = {**header, "histoeval": __version__, **figures}
        write_lines(output, [json.dumps(told, indent=2, ensure_ascii=False)])


def show(tables: Iterable[Any]) -> None:
    """Figures as tables in the terminal."""
    from rich.console import Console

    for table in tables:
        Console().print(table)
