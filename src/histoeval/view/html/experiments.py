"""Table 4 as a page: images, true reports, what was changed in them, and what each measure said."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from html import escape
from io import BytesIO
from pathlib import Path
from string import Template

from histoeval.errors import InputError
from histoeval.experiments.edits.registry import CONTROL, levels
from histoeval.experiments.rows import PerturbedRow
from histoeval.experiments.sensitivity import ScoredReports
from histoeval.resources import resource_text
from histoeval.version import __version__

PIXELS = 480
"""The longer side of a picture on the page."""

HARMLESS = 1
"""Up to this level nothing is wrong."""


def experiment_page(
    rows: Sequence[PerturbedRow],
    scored: Sequence[ScoredReports],
    *,
    images: Path | None = None,
    most: int = 12,
) -> str:
    """One page that needs no other file and no network; of so many cases, the first."""
    numbers = {row.id: row for row in scored}
    by_case: dict[str, list[PerturbedRow]] = {}
    for row in rows:
        by_case.setdefault(row.case, []).append(row)
    shown = list(by_case.items())[:most]
    template = Template(resource_text("view/html/data/experiment.html"))
    steps = "; ".join(f"{level}: {name}" for level, name in levels().items())
    return template.substitute(
        title="What each measure sees",
        facts=escape(
            f"{len(shown):,} of {len(by_case):,} reports. Orange: what makes a report wrong. "
            f"Green: only other words. Levels: {steps}."
        ),
        cases="\n".join(_case(name, some, numbers, images) for name, some in shown),
        version=__version__,
    )


def _case(
    name: str,
    rows: Sequence[PerturbedRow],
    numbers: Mapping[str, ScoredReports],
    images: Path | None,
) -> str:
    measures = list(
        dict.fromkeys(m for row in rows if row.id in numbers for m in numbers[row.id].scores)
    )
    heads = "".join(f'<th class="n">{escape(m)}</th>' for m in measures)
    body = "\n".join(_row(row, numbers.get(row.id), measures) for row in rows)
    return (
        f"<h2>{escape(name)}</h2>\n<div class='case'><div>{_picture(rows[0].image, images)}</div>"
        f"<table><thead><tr><th>edit</th><th>report</th>{heads}</tr></thead>\n"
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(row: PerturbedRow, scored: ScoredReports | None, measures: Sequence[str]) -> str:
    found = {} if scored is None else scored.scores
    reasons = {} if scored is None else scored.errors
    cells = "".join(
        f'<td class="n" title="{escape(reasons.get(m, ""))}">'
        f"{'none' if (value := found.get(m)) is None else f'{value:.2f}'}</td>"
        for m in measures
    )
    what = row.edit if row.edit == CONTROL else f"{row.edit} ({row.level})"
    return f'<tr><td>{escape(what)}</td><td class="r">{marked(row)}</td>{cells}</tr>'


def marked(row: PerturbedRow) -> str:
    """The true report with what was taken out and what was put in; as a whole if nobody can say."""
    text, done, at = row.reference or "", [], 0
    kind = ' class="same"' if row.level <= HARMLESS else ""
    for change in sorted(row.changes, key=lambda c: c.start):
        if change.start < at or not text.startswith(change.before, change.start):
            return escape(row.report or "")
        done.append(escape(text[at : change.start]))
        done.append(f"<del>{escape(change.before)}</del>" if change.before else "")
        done.append(f"<ins{kind}>{escape(change.after)}</ins>" if change.after else "")
        at = change.start + len(change.before)
    return "".join([*done, escape(text[at:])]).replace("\n", "<br>")


def _picture(image: str | None, folder: Path | None) -> str:
    if image is None or folder is None:
        return '<p class="none">no image</p>'
    path = folder / image
    if not path.exists():
        return f'<p class="none">{escape(image)} is not there</p>'
    try:
        return f'<img alt="{escape(image)}" src="{data_uri(path)}">'
    except InputError as error:
        said = str(error).replace(str(path), image)
        return f'<p class="none">{escape(said)}</p>'


def data_uri(path: Path) -> str:
    """A small picture of an image or slide, as an address that holds it."""
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    with open_slide(path) as slide:
        picture = make_thumbnail(slide, PIXELS)
    file = BytesIO()
    picture.save(file, format="JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
