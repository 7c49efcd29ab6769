"""Reading reports in one line of Python: ``histoeval.read_reports("reports.csv")``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from histoeval.errors import SettingError
from histoeval.io.jsonl_rows import ReadRow
from histoeval.io.reports import TextSource, open_reports, reports_of_records
from histoeval.progress import row_progress
from histoeval.run.extract import extract, output_file
from histoeval.run.models import Models, load_reader
from histoeval.run.results import Readings
from histoeval.run.scoring import records_of


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
        output: a .jsonl file for the rows; a stopped run is continued there.
        text: the column that holds the text, where it cannot be guessed.
        id: the column that names a report.
        encoding: of text files, where it cannot be told.
        models: the reader to use; the builtin one when left out.
        batch_size: reports handled together; it never changes what is read.
        overwrite: replace what `output` holds.

    Returns:
        A summary and the rows. Without `output` the rows are held in memory.
    """
    if batch_size < 1:
        raise SettingError(f"batch_size is {batch_size}; it must be 1 or more")
    source = _source(data, text, id, encoding)
    file = None if output is None else output_file(Path(output), data)
    kept: list[ReadRow] = []
    reader = load_reader(models or Models())
    with row_progress(source, "reading") as watch:
        extraction = extract(
            source,
            reader,
            file=file,
            overwrite=overwrite,
            batch_size=batch_size,
            hear=kept.append if file is None else lambda row: None,  # noqa: ARG005
            watch=watch,
        )
    return Readings(extraction.summary, kept if file is None else file)


def _source(data: Any, text: str | None, id_: str | None, encoding: str | None) -> TextSource:
    if isinstance(data, str) and not Path(data).exists() and _is_prose(data):
        raise SettingError(
            f"{data[:40]!r} is no file: give texts as a list, as in read_reports([text])"
        )
    if isinstance(data, str | Path):
        return open_reports(Path(data), text=text, id_=id_, encoding=encoding)
    records = records_of(data)
    if isinstance(records, Mapping) or not isinstance(records, Iterable):
        raise SettingError(
            f"data is of type {type(data).__name__}; it must be a list of texts, a file or folder, "
            "a polars or pandas frame, or a list of records such as {'id': ..., 'text': ...}"
        )
    items = list(records)
    if text is None and id_ is None and not any(isinstance(item, Mapping) for item in items):
        items = [{"text": item} for item in items]
    return reports_of_records(items, text, id_)


def _is_prose(data: str) -> bool:
    """Whether a text looks like a report and not like the name of a file."""
    return len(data.split()) > 1 and not Path(data).suffix.lstrip(".").isalnum()
