"""Trust as one page that needs no other file and no network: verdicts, texts, pictures."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from io import BytesIO
from itertools import islice
from pathlib import Path
from string import Template
from typing import Any

from histoeval.io.store import writing_to
from histoeval.resources import resource_text
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.table import ResultTable, html_table
from histoeval.trust.policy.policy import DIMENSIONS
from histoeval.version import __version__
from histoeval.view.terminal.trust import number, policy_line, trust_tables, trust_text
from histoeval.view.trust_highlight import marked_list, marked_text, marks_of

MOST_ROWS = 200
"""Reports on the page, the first of the input; all are in trust.jsonl."""

MOST_BYTES = 16 * 2**20
"""Pictures that are put into the page itself; those beyond lie in the folder beside it."""

SIDE = 360
"""Pixels along the longer side of a picture on the page; a click leads to the whole of it."""


def write_page(
    folder: TrustFolder, rows: Iterable[tuple[TrustRow, str | None]], summary: Mapping[str, Any]
) -> None:
    """Write the page of a run into its folder, whole or not at all."""
    gallery = _Gallery(folder.folder)
    shown = [_section(row, text, gallery) for row, text in islice(rows, MOST_ROWS)]
    template = Template(resource_text("view/html/data/trust.html"))
    page = template.substitute(
        title=escape(f"Trust in reports: {summary['input']['name']}"),
        tables="\n".join(html_table(told) for told in trust_tables(summary, ())),
        policy=escape(policy_line(summary)),
        notes=_beyond(len(shown), summary["rows"]),
        sections="\n".join(shown),
        made=_list(f"{name}: {summary[name]}" for name in _MADE if summary[name] is not None),
        version=__version__,
    )
    with writing_to(folder.folder):
        draft = folder.page.with_suffix(".part")
        draft.write_text(page, "utf-8", errors="backslashreplace", newline="\n")
        draft.replace(folder.page)


_MADE = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles", "policy")


class _Gallery:
    """Pictures for the page, in small: inside it while there is room, beside it from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._left = MOST_BYTES

    def source(self, name: str) -> str:
        """What an `img` shows."""
        if self._left <= 0:
            return escape(name)
        content = _in_small(self._folder / name)
        self._left -= len(content)
        return f"data:image/jpeg;base64,{b64encode(content).decode('ascii')}"


def _in_small(path: Path) -> bytes:
    from PIL import Image

    stream = BytesIO()
    with Image.open(path) as picture:
        picture.thumbnail((SIDE, SIDE))
        picture.convert("RGB").save(stream, "JPEG", quality=85)
    return stream.getvalue()


def _section(row: TrustRow, text: str | None, gallery: _Gallery) -> str:
    """One report: verdict, dimensions, text, evidence."""
    prefix, evidence = f"r{row.row}", row.evidence
    marks = marks_of(evidence)
    parts = [
        f'<section id="{prefix}">',
        f'<header><h2>{escape(row.id)}</h2><span class="route {row.route}">{row.route}</span>'
        f"<span>trust {trust_text(row)}</span>"
        f'<span class="why">{escape(evidence["trust"]["reason"])}</span></header>',
        _dimensions(row),
        "" if text is None else f'<div class="text">{marked_text(text, marks, prefix)}</div>',
        marked_list(marks, prefix),
        _pictures(evidence.get("pictures", ()), gallery),
        _shifts(evidence.get("stability")),
        _details(row),
        "</section>",
    ]
    return "\n".join(part for part in parts if part)


def _dimensions(row: TrustRow) -> str:
    """A bar for each dimension; where it is missing, why."""
    lines = []
    for name in DIMENSIONS:
        value = getattr(row, name)
        why = "; ".join(e.message for e in row.errors if e.dimension in (name, None))
        bar = (
            '<span class="bar missing"></span>'
            if value is None
            else f'<span class="bar"><i style="width:{100 * value:.1f}%"></i></span>'
        )
        told = f'<span class="why">{escape(why)}</span>' if value is None else ""
        lines.append(
            f"<tr><td>{name}</td><td>{bar}</td><td>{number(value)}</td><td>{told}</td></tr>"
        )
    return f"<table><tbody>{''.join(lines)}</tbody></table>"


def _pictures(pictures: Iterable[Mapping[str, Any]], gallery: _Gallery) -> str:
    figures = []
    for picture in pictures:
        about = picture.get("claim", "the image")
        caption = {"image": "the image", "spot": f"best patch: {about}"}.get(
            picture["shows"], f"heatmap: {about}"
        )
        if "file" in picture:
            shown = (
                f'<a href="{escape(picture["file"])}">'
                f'<img alt="{escape(caption)}" src="{gallery.source(picture["file"])}"></a>'
            )
        else:
            shown = f"<p>{escape(picture['problem'])}</p>"
        figures.append(f"<figure>{shown}<figcaption>{escape(caption)}</figcaption></figure>")
    return f"<div>{''.join(figures)}</div>" if figures else ""


def _shifts(stability: Mapping[str, Any] | None) -> str:
    """How far each attack moved the report, and what of it."""
    if stability is None:
        return ""
    rows = [
        (each["attack"], each["kind"], f"{each['distance']:.3f}", "; ".join(each["changed"]))
        for each in stability["shifts"]
    ]
    title = f"Under attack; moved most by: {stability['worst']}"
    return html_table(ResultTable(title, ("attack", "kind", "distance", "what changed"), rows))


def _details(row: TrustRow) -> str:
    """Notes and signatures, folded away."""
    lines = list(_said(row.evidence))
    return (
        f"<details><summary>notes and signatures</summary>{_list(lines)}</details>" if lines else ""
    )


def _said(evidence: Mapping[str, Any]) -> Iterator[str]:
    for name in DIMENSIONS:
        if found := evidence.get(name):
            yield from (f"{name}: {note}" for note in found["notes"])
            yield f"{name}: {found['signature']}"


def _beyond(shown: int, rows: int) -> str:
    if rows <= shown:
        return ""
    return f"<p>The first {shown:,} of {rows:,} reports; all are in trust.jsonl.</p>"


def _list(lines: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
