"""`histoeval extract`: read entities, assertions and relations in reports."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from histoeval.cli.options.models import (
    COLUMNS,
    DeviceOption,
    DtypeOption,
    EncodingOption,
    IdOption,
    LabelsOption,
    ReaderOption,
    RelationsOption,
)
from histoeval.errors import SettingError

if TYPE_CHECKING:
    from histoeval.io.results import ReadRow
    from histoeval.run.pipeline import RunResult

SHOWN = 3
"""How many reports are shown where nothing is written."""


def extract(
    file: Annotated[
        Path,
        typer.Argument(
            help="A table (csv, tsv, jsonl, json, parquet), a text file with a report per line, "
            "or a folder of text files.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            help="File for the rows, as JSON lines; a stopped run continues. Without it the first "
            "reports are shown and nothing is written."
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what the file holds.")
    ] = False,
    show: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"How many reports to show in the terminal; {SHOWN} without --output.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(help="Column of the text.", rich_help_panel=COLUMNS)
    ] = None,
    id_column: IdOption = None,
    encoding: EncodingOption = None,
    reader: ReaderOption = None,
    relations: RelationsOption = None,
    labels: LabelsOption = None,
    device: DeviceOption = None,
    dtype: DtypeOption = None,
    batch_size: Annotated[
        int, typer.Option(min=1, help="Reports handled together; it never changes what is read.")
    ] = 256,
) -> None:
    """Read what reports say: entities, whether they are there, and what belongs together.

    Exit code 0: every report was read; 1: some were not, and errors say why; 2: nothing could
    be done.
    """
    from histoeval.io.annotation.names import read_labels
    from histoeval.io.reports import open_reports
    from histoeval.progress import row_progress
    from histoeval.run.extract import extract as run
    from histoeval.run.extract import first_rows, output_file
    from histoeval.run.models import Models, load_reader

    models = Models(
        reader=reader,
        relations=relations,
        labels=None if labels is None else read_labels(labels),
        device=device,
        dtype=dtype,
    )
    if output is None and show == 0:
        raise SettingError(
            "nothing to show and nothing to write: give --output, or --show a number"
        )
    written = None if output is None else output_file(output, file)
    source = open_reports(file, text=text, id_=id_column, encoding=encoding)
    if written is None:
        rows = first_rows(source, load_reader(models), SHOWN if show is None else show)
        _show(rows)
        raise typer.Exit(_exit_code(len(rows), sum(bool(row.errors) for row in rows)))
    try:
        with row_progress(source, "reading") as watch:
            extraction = run(
                source,
                load_reader(models),
                file=written,
                overwrite=overwrite,
                batch_size=batch_size,
                watch=watch,
            )
    except KeyboardInterrupt:
        said = f"stopped; what was read is kept in {output}: the same command continues there"
        typer.echo(said, err=True)
        raise typer.Exit(130) from None
    _show(list(islice(extraction.rows, show or 0)))
    _report(extraction)
    typer.echo(f"Written: {written.path}, {written.meta}")
    summary = extraction.summary
    raise typer.Exit(_exit_code(summary["rows"], summary["rows_with_errors"]))


def _exit_code(rows: int, rows_with_errors: int) -> int:
    if rows == rows_with_errors:
        return 2
    return 1 if rows_with_errors else 0


def _show(rows: list[ReadRow]) -> None:
    if rows:
        from rich.console import Console

        from histoeval.view.terminal.entities import show_rows

        show_rows(Console(), rows)
        typer.echo()


def _report(extraction: RunResult[ReadRow]) -> None:
    """Say what was found, how fast, and what went wrong."""
    from rich.console import Console

    from histoeval.view.terminal.extraction import extraction_table
    from histoeval.view.terminal.scores import problem_table

    console = Console()
    summary, _, rows_done, seconds = extraction
    console.print(extraction_table(summary, rows_done, seconds))
    if (problems := problem_table(summary)) is not None:
        console.print(problems)
