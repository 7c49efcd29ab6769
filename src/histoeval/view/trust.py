"""Trust in reports from Python: the verdicts, with pictures of the evidence and a page."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from histoeval.progress import row_progress
from histoeval.run.inputs import case_source
from histoeval.run.results import Verdicts
from histoeval.run.trust.reports import trust_source
from histoeval.run.trust.rows import TrustFolder
from histoeval.run.trust.setup import TrustOptions, open_instruments
from histoeval.view.figures.evidence import with_pictures
from histoeval.view.html.trust import write_page


def trust_reports(
    data: Any,
    *,
    images: str | Path | None = None,
    output: str | Path | None = None,
    wanted: TrustOptions | None = None,
    text: str | None = None,
    image: str | None = None,
    id: str | None = None,  # noqa: A002 - the name people give the column
    encoding: str | None = None,
    pictures: bool = True,
    overwrite: bool = False,
) -> Verdicts:
    """Tell how far reports can be trusted when there is no reference.

    Args:
        data: a table (csv, tsv, jsonl, json, parquet), a polars or pandas frame, or records
            (dicts), with the columns id, image, report and, where there are any, report_augmented
            and report_attacked; or a list of reports.
        images: the folder that images are named in; by default that of the table.
        output: a folder for rows, summary, pictures and a page; a stopped run resumes there.
        wanted: the instruments and the policy; by default the builtin ones, and the paper's.
        text: the column that holds the report, where it cannot be guessed.
        image: the column that names the image.
        id: the column that names a row.
        encoding: of text files, where it cannot be guessed.
        pictures: draw the evidence; only with `output`.
        overwrite: replace what `output` holds.

    Returns:
        A summary and the rows. Without `output` the rows are held in memory.
    """
    source = case_source(data, text=text, image=image, id_=id, images=images, encoding=encoding)
    tools = open_instruments(wanted or TrustOptions(), source)
    folder = None if output is None else TrustFolder(Path(output))
    illustrate = None
    if folder is not None and pictures:
        illustrate = partial(with_pictures, folder=folder.evidence, tools=tools)
    with row_progress(source, "judging") as watch:
        verdicts = trust_source(
            source, tools, folder, illustrate=illustrate, overwrite=overwrite, watch=watch
        )
    if folder is not None:
        texts = (case.report for case in source.rows())
        write_page(folder, zip(verdicts, texts, strict=True), verdicts.summary)
    return verdicts
