"""`histoeval extract`: entities, assertions and relations of reports."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from histoeval.cli.options.bundle import option, verb
from histoeval.cli.options.columns import EncodingOption, IdOption, TextOption
from histoeval.cli.options.engine import EngineOptions
from histoeval.cli.options.models import ReaderModels
from histoeval.cli.options.output import (
    NoTextsOption,
    OverwriteOption,
    exit_with,
    print_tables,
    resumable,
)
from histoeval.console import Console
from histoeval.errors import SettingError
from histoeval.io.reports import open_reports
from histoeval.io.results import ReadRow
from histoeval.io.store import RowStore
from histoeval.io.tables.remote import local_input
from histoeval.progress import row_progress
from histoeval.run.extract import extract as run
from histoeval.run.extract import first_rows
from histoeval.run.models import load_reader
from histoeval.view.terminal.extraction import extraction_table, show_rows
from histoeval.view.terminal.scores import problem_table

PREVIEW = 3
"""How many reports are shown if nothing is written."""


@verb
def extract(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            parser=local_input,
            help="A table (csv, tsv, jsonl, json, parquet), a text file with a report per line, "
            "a Word, PDF, HL7 or FHIR file, or a folder of such files.",
        ),
    ],
    output: Annotated[
        Path | None,
        option(
            "File for the rows (.jsonl, .jsonl.gz or .parquet); a stopped run resumes there. "
            "Without it the first reports are shown and nothing is written."
        ),
    ] = None,
    overwrite: OverwriteOption = False,
    no_texts: NoTextsOption = False,
    show: Annotated[
        int | None,
        option(f"Number of reports to show in the terminal; {PREVIEW} without --output.", min=0),
    ] = None,
    text: TextOption = None,
    id_column: IdOption = None,
    encoding: EncodingOption = None,
    models: ReaderModels = ReaderModels(),
    engine: EngineOptions = EngineOptions(),
) -> None:
    """Extract entities, whether they are present, and how they are related.

    Exit code 0: every report was read; 1: some were not, and errors say why; 2: nothing could
    be done.

    Examples:
      histoeval extract reports.csv
      histoeval extract reports.csv --text report --output entities.jsonl
    """
    chosen = models.models()
    if output is None and show == 0:
        raise SettingError("nothing to show and nothing to write: pass --output, or --show N")
    written = None if output is None else RowStore(output, ReadRow.of_line)
    source = open_reports(file, text=text, id_=id_column, encoding=encoding)
    if written is None:
        most = PREVIEW if show is None else show
        rows = first_rows(source, load_reader(chosen), most, chosen.language)
        _show(rows)
        failed = sum(bool(row.errors) for row in rows)
        exit_with(len(rows) - failed, failed)
    with resumable(output), row_progress(source, "reading") as watch:
        extraction = run(
            source,
            load_reader(chosen),
            file=written,
            language=chosen.language,
            overwrite=overwrite,
            batch_size=engine.block_rows,
            engine=engine.chosen(),
            watch=watch,
            texts=not no_texts,
        )
    _show(list(islice(extraction.rows, show or 0)))
    summary, _, rows_done, seconds = extraction
    print_tables([extraction_table(summary, rows_done, seconds), problem_table(summary)])
    typer.echo(f"Written: {written.stored}, {written.meta}")
    exit_with(summary["rows"] - summary["rows_with_errors"], summary["rows_with_errors"])


def _show(rows: list[ReadRow]) -> None:
    if rows:
        show_rows(Console(), rows)
        typer.echo()
