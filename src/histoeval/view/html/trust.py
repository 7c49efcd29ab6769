"""Trust as a self-contained page for those who act on it: verdicts, reasons, texts, pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from heapq import nsmallest
from itertools import repeat
from pathlib import Path
from typing import Any

from histoeval.io.finished_run import has_texts, read_texts
from histoeval.io.store import read_json
from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.progress import row_progress
from histoeval.run.inputs import case_source
from histoeval.run.results import Verdicts
from histoeval.run.settings import TrustSettings
from histoeval.run.trust.reports import trust_source
from histoeval.run.trust.rows import TrustFolder, TrustRow, policy_of
from histoeval.run.trust.setup import open_instruments
from histoeval.table import html_table
from histoeval.view.figures.evidence import with_pictures
from histoeval.view.html.page import Website, render
from histoeval.view.html.trust_card import Gallery, card, technical_tables
from histoeval.view.terminal.trust import policy_line, trust_tables
from histoeval.view.trust_words import TrustTally, check_meanings, verdict_meanings, worst_first

MAX_ROWS = 200  # reports on the page, the worst of the input; all are in trust.jsonl
_MADE_WITH = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles")


def run_trust(settings: TrustSettings) -> Verdicts:
    """Judge every report; into a folder with pictures and a page, if one is given.

    Without texts there is no page.
    """
    source = case_source(
        settings.data,
        text=settings.text,
        image=settings.image,
        id_=settings.id,
        images=settings.images,
        encoding=settings.encoding,
    )
    tools = open_instruments(settings.options or settings, source)
    folder = None if settings.output is None else TrustFolder(Path(settings.output))
    illustrate = None
    if folder is not None and settings.pictures:
        illustrate = partial(with_pictures, folder=folder.evidence, tools=tools)

    def conclude(summary: dict[str, Any]) -> None:
        if folder is not None and settings.texts:
            reports = (case.report for case in source.rows())
            with writing_to(folder.folder):
                page = page_text(folder, zip(folder, reports, strict=True), summary)
                write_text(folder.page, page)

    with row_progress(source, "judging") as watch:
        return trust_source(
            source,
            tools,
            folder,
            illustrate=illustrate,
            overwrite=settings.overwrite,
            watch=watch,
            conclude=conclude,
            engine=settings.choose_engine(),
            batch_size=settings.batch_size,
            texts=settings.texts,
        )


def trust_page(path: Path, site: Website | None = None) -> str:
    folder = TrustFolder(path)
    rows = zip(folder, kept_texts(path), strict=False)
    return page_text(folder, rows, read_json(folder.summary, path), site)


def kept_texts(path: Path) -> Iterator[str | None]:
    if not has_texts(path):
        yield from repeat(None)
    yield from (texts.get("report") for texts in read_texts(path))


def page_text(
    folder: TrustFolder,
    rows: Iterable[tuple[TrustRow, str | None]],
    summary: Mapping[str, Any],
    site: Website | None = None,
) -> str:
    gallery, tally = Gallery(folder.folder), TrustTally(policy_of(summary))

    def counted() -> Iterator[tuple[TrustRow, str | None]]:
        for row, text in rows:
            tally.add(row)
            yield row, text

    worst = nsmallest(MAX_ROWS, counted(), key=lambda each: worst_first(each[0]))
    shown = [row for row, _ in worst]
    evidence = [row.evidence[name] for row in shown for name in DIMENSIONS if name in row.evidence]
    policy = summary["policy"]
    return render(
        "trust.html",
        site=site,
        scripts=["verdicts.js"],
        styles=["trust.css"],
        title=f"Trust in reports: {summary['input']['name']}",
        rows=tally.verdicts.total(),
        verdicts=verdict_meanings(tally.policy),
        tally=tally,
        shown=Counter(row.route for row in shown),
        checks=check_meanings(),
        reports=[card(row, text, tally.policy, gallery) for row, text in worst],
        technical={  # for those who run the checks
            "policy": policy_line(policy),
            "validated": None if policy["meaning"] is None else policy["meaning"]["validated"],
            "tables": [*map(html_table, [*trust_tables(summary, ()), *technical_tables(shown)])],
            "made_with": [
                f"{name}: {summary[name]}" for name in _MADE_WITH if summary[name] is not None
            ],
            "signatures": sorted({found["signature"] for found in evidence}),
        },
    )
