"""Verdicts on reports with what people look at: pictures of the evidence, and a page."""

from functools import partial
from pathlib import Path
from typing import Any

from histoeval.io.trust_cases import CaseSource
from histoeval.progress import row_progress
from histoeval.run.engines.engine import INLINE, Engine
from histoeval.run.results import Verdicts
from histoeval.run.trust.case import Instruments
from histoeval.run.trust.reports import trust_source
from histoeval.run.trust.rows import TrustFolder
from histoeval.view.figures.evidence import with_pictures
from histoeval.view.html.trust import write_page


def trust_with_page(
    source: CaseSource,
    tools: Instruments,
    output: Path | None,
    *,
    pictures: bool = True,
    overwrite: bool = False,
    engine: Engine = INLINE,
    batch_size: int | None = None,
    texts: bool = True,
) -> Verdicts:
    """Judge every report of a source; into a folder with pictures and a page, if one is given.

    Without `texts` there is no page.
    """
    if output is None:
        with row_progress(source, "judging") as watch:
            return trust_source(
                source, tools, watch=watch, engine=engine, batch_size=batch_size, texts=texts
            )
    folder = TrustFolder(output)

    def conclude(summary: dict[str, Any]) -> None:
        if texts:
            reports = (case.report for case in source.rows())
            write_page(folder, zip(folder, reports, strict=True), summary)

    illustrate = partial(with_pictures, folder=folder.evidence, tools=tools) if pictures else None
    with row_progress(source, "judging") as watch:
        return trust_source(
            source,
            tools,
            folder,
            illustrate=illustrate,
            overwrite=overwrite,
            watch=watch,
            conclude=conclude,
            engine=engine,
            batch_size=batch_size,
            texts=texts,
        )
