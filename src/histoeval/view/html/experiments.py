"""The page of a folder of experiments: every table, with its notes and figures."""

from base64 import b64encode
from pathlib import Path
from typing import Any

from histoeval.errors import InputError
from histoeval.io.finished_run import experiments_in
from histoeval.table import html_table, tables_in_markdown
from histoeval.view.html.page import Website, render


def experiment_tables_page(folder: Path, site: Website | None = None) -> str:
    """Every table in a folder of `experiment`, with its notes and figures."""
    names = experiments_in(folder)
    return render(
        "experiment_tables.html",
        site=site,
        title=f"Experiments: {folder.resolve().name}",
        blocks=[_block(folder / f"{name}.md") for name in names],
        figures=[_svg_uri(file) for file in sorted(folder.glob("*.svg"))],
    )


def _block(file: Path) -> dict[str, Any]:
    """The tables and the notes of one Markdown file."""
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    notes = [line.removeprefix("- ") for line in text.splitlines() if line.startswith("- ")]
    return {"tables": [*map(html_table, tables_in_markdown(text))], "notes": notes}


def _svg_uri(file: Path) -> tuple[str, str]:
    content = b64encode(file.read_bytes()).decode("ascii")
    return file.stem, f"data:image/svg+xml;base64,{content}"
