"""Reading reports in one line of Python: ``histoeval.read_reports("reports.csv")``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from histoeval.errors import SettingError
from histoeval.progress import row_progress
from histoeval.run.extract import extract, output_file
from histoeval.run.inputs import text_source
from histoeval.run.models import Models, load_reader
from histoeval.run.results import Readings


def read_reports(
    data: Any,
    *,
    output: str | Path | None = None,
    text: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    models: Models | None = None,
    batch_size: int = 256,
    overwrite: bool = False,
) -> Readings:
    """Read what reports say: entities, whether they are asserted, and relations between them.

    Args:
        data: a list of texts; a file (csv, tsv, jsonl, json, parquet, or txt with a report per
            line) or a folder of text files; a polars or pandas frame; or records (dicts).
        output: a .jsonl file for the rows; a stopped run resumes there.
        text: the column that holds the text, where it cannot be guessed.
        id: the column that names a report.
        encoding: of text files, where it cannot be guessed.
        models: the reader to use; by default the builtin one.
        batch_size: reports handled together; it never changes what is read.
        overwrite: replace what `output` holds.

    Returns:
        A summary and the rows. Without `output` the rows are held in memory.
    """
    if batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}; it must be 1 or more")
    source = text_source(data, text=text, id_=id, encoding=encoding)
    file = None if output is None else output_file(Path(output), data)
    reader = load_reader(models or Models())
    with row_progress(source, "reading") as watch:
        done = extract(
            source, reader, file=file, overwrite=overwrite, batch_size=batch_size, watch=watch
        )
    return Readings(done.summary, done.rows)
