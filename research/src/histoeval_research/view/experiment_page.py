"""Table 4 of PathGLS with its examples, as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from histoeval.errors import InputError
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import data_uri, jpeg, render
from histoeval_research.experiments.edits.registry import CONTROL, levels
from histoeval_research.experiments.measures import PerturbedRow
from histoeval_research.experiments.sensitivity import ScoredReports

if TYPE_CHECKING:
    from markupsafe import Markup


PIXELS = 480
"""The longer side of a picture on the page."""

HARMLESS = 1
"""Up to this level an edit is not an error."""


def experiment_page(
    rows: Sequence[PerturbedRow],
    scored: Sequence[ScoredReports],
    *,
    images: Path | None = None,
    most: int = 12,
) -> str:
    """One page with at most this many cases, in the order of the rows."""
    numbers = {row.id: row for row in scored}
    by_case: dict[str, list[PerturbedRow]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    shown = list(by_case.items())[:most]
    steps = "; ".join(f"{level}: {name}" for level, name in levels().items())
    return render(
        "experiment.html",
        title="What each measure sees",
        facts=f"{len(shown):,} of {len(by_case):,} reports. Orange: what makes a report wrong. "
        f"Green: only other words. Levels: {steps}.",
        cases=[_case(name, some, numbers, images) for name, some in shown],
    )


def _case(
    name: str,
    rows: Sequence[PerturbedRow],
    numbers: Mapping[str, ScoredReports],
    images: Path | None,
) -> dict[str, Any]:
    measures = list(
        dict.fromkeys(m for row in rows if row.id in numbers for m in numbers[row.id].scores)
    )
    picture, reason = _picture(rows[0].image, images)
    return {
        "name": name,
        "image": rows[0].image,
        "picture": picture,
        "reason": reason,
        "measures": measures,
        "rows": [_row(row, numbers.get(row.id), measures) for row in rows],
    }


def _row(
    row: PerturbedRow, scored: ScoredReports | None, measures: Sequence[str]
) -> dict[str, Any]:
    scores = {} if scored is None else scored.scores
    reasons = {} if scored is None else scored.errors
    return {
        "edit": row.edit if row.edit == CONTROL else f"{row.edit} ({row.level})",
        "text": edited_text(row),
        "cells": [
            ("none" if (value := scores.get(m)) is None else f"{value:.2f}", reasons.get(m, ""))
            for m in measures
        ],
    }


def edited_text(row: PerturbedRow) -> Markup:
    """The true report with deletions and insertions; the edited one if they are not known."""
    text, shown, at = row.reference or "", "", 0
    spans: list[HighlightSpan] = []
    inserted = "ins same" if row.level <= HARMLESS else "ins"
    for change in sorted(row.changes, key=lambda c: c.start):
        if change.start < at or not text.startswith(change.before, change.start):
            return html(row.report or "", ())
        shown += text[at : change.start]
        for added, kind in ((change.before, "del"), (change.after, inserted)):
            spans.append(HighlightSpan(len(shown), len(shown) + len(added), kind=kind))
            shown += added
        at = change.start + len(change.before)
    return html(shown + text[at:], spans)


def _picture(image: str | None, folder: Path | None) -> tuple[str | None, str]:
    """A small picture as a data URI, or why there is none."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    if image is None or folder is None:
        return None, "no image"
    path = folder / image
    try:
        with open_slide(path) as slide:
            return data_uri(jpeg(make_thumbnail(slide, PIXELS))), ""
    except InputError as error:
        return None, str(error).replace(str(path), image)
