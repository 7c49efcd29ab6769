"""`histoeval extract`: entities, assertions and relations of reports."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.output import exit_with, print_tables, resumable
from histoeval.cli.verb import verb
from histoeval.console import Console
from histoeval.errors import SettingError
from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore
from histoeval.run.extract import first_rows, run_extract
from histoeval.run.settings import ExtractSettings
from histoeval.settings import Option
from histoeval.view.terminal.extraction import extraction_table, show_rows
from histoeval.view.terminal.scores import problem_table

PREVIEW = 3  # how many reports are shown if nothing is written


@verb
def extract(
    settings: ExtractSettings,
    show: Annotated[
        int | None,
        Option(f"Number of reports to show in the terminal; {PREVIEW} without --output.", min=0),
    ] = None,
) -> None:
    """Extract entities, whether they are present, and how they are related.

    Exit code 0: every report was read; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval extract reports.csv
      histoeval extract reports.csv --text report --output entities.jsonl
    """
    if settings.output is None:
        if show == 0:
            raise SettingError("nothing to show and nothing to write: pass --output, or --show N")
        rows = first_rows(settings, PREVIEW if show is None else show)
        _show(rows)
        failed = sum(bool(row.errors) for row in rows)
        exit_with(len(rows) - failed, failed)
    with resumable(settings.output):
        extraction = run_extract(settings)
    _show(list(islice(extraction.rows, show or 0)))
    summary, _, rows_done, seconds = extraction
    print_tables([extraction_table(summary, rows_done, seconds), problem_table(summary)])
    written = RowStore(Path(settings.output), ReadRow.of_line)
    typer.echo(f"Written: {written.stored}, {written.meta}")
    exit_with(summary["rows"] - summary["rows_with_errors"], summary["rows_with_errors"])


def _show(rows: list[ReadRow]) -> None:
    if rows:
        show_rows(Console(), rows)
        typer.echo()
