"""Trust as a self-contained page: verdicts, highlighted texts, and pictures of the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.table import ResultTable, html_table, number
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import data_uri, jpeg, render
from histoeval.view.terminal.trust import (
    meaning_lines,
    policy_line,
    trust_tables,
    trust_text,
)

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_ROWS = 200
"""Reports on the page, the first of the input; all are in trust.jsonl."""

MAX_CHARS = 20_000
"""Characters of a report that are shown."""

MAX_PICTURE_BYTES = 16 * 2**20
"""Pictures inside the page; further ones are linked from the folder beside it."""

SIDE = 360
"""Pixels along the longer side of a picture on the page; a click opens the original."""

SUPPORTED = 0.5
"""From this calibrated value on a claim is better supported than decoy claims."""

_MADE_WITH = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles")


def write_page(
    folder: TrustFolder, rows: Iterable[tuple[TrustRow, str | None]], summary: Mapping[str, Any]
) -> None:
    """Write the page of a run into its folder, atomically."""
    gallery = _Gallery(folder.folder)
    page = render(
        "trust.html",
        title=f"Trust in reports: {summary['input']['name']}",
        tables=map(html_table, trust_tables(summary, ())),
        policy=policy_line(summary["policy"]),
        meaning=meaning_lines(summary["policy"], "validated"),
        rows=summary["rows"],
        reports=[_report(row, text, gallery) for row, text in islice(rows, MAX_ROWS)],
        made_with=[f"{name}: {summary[name]}" for name in _MADE_WITH if summary[name] is not None],
    )
    with writing_to(folder.folder):
        write_text(folder.page, page)


class _Gallery:
    """Small pictures, inside the page while there is room, and linked from then on."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes_left = MAX_PICTURE_BYTES

    def source(self, name: str) -> str:
        """The `src` of an image."""
        from PIL import Image

        if self._bytes_left <= 0:
            return name
        with Image.open(self._folder / name) as picture:
            picture.thumbnail((SIDE, SIDE))
            content = jpeg(picture)
        self._bytes_left -= len(content)
        return data_uri(content)


def _report(row: TrustRow, text: str | None, gallery: _Gallery) -> dict[str, Any]:
    """What the template shows of one report."""
    evidence, anchor = row.evidence, f"r{row.row}"
    findings = findings_of(evidence)
    return {
        "anchor": anchor,
        "id": row.id,
        "route": row.route,
        "trust": trust_text(row),
        "reason": evidence["trust"]["reason"],
        "dimensions": [_dimension(row, name) for name in DIMENSIONS],
        "text": None if text is None else shown_text(text, findings, anchor),
        "lines": [finding.line for finding in findings],
        "pictures": [_picture(picture, gallery) for picture in evidence.get("pictures", ())],
        "shifts": _shifts(evidence.get("stability")),
        "notes": list(_notes(evidence)),
    }


def _dimension(row: TrustRow, name: str) -> dict[str, Any]:
    value = getattr(row, name)
    reasons = [error.message for error in row.errors if error.dimension in (name, None)]
    return {"name": name, "value": value, "number": number(value), "reason": "; ".join(reasons)}


def _picture(picture: Mapping[str, Any], gallery: _Gallery) -> dict[str, Any]:
    claim = picture.get("claim", "the image")
    captions = {"image": "the image", "spot": f"best patch: {claim}"}
    file = picture.get("file")
    return {
        "caption": captions.get(picture["shows"], f"heatmap: {claim}"),
        "file": file,
        "source": None if file is None else gallery.source(file),
        "problem": picture.get("problem"),
    }


def _shifts(stability: Mapping[str, Any] | None) -> str | None:
    """How far each attack moved the report, and what it changed."""
    if stability is None:
        return None
    rows = [
        (each["attack"], each["kind"], f"{each['distance']:.3f}", "; ".join(each["changed"]))
        for each in stability["shifts"]
    ]
    title = f"Under attack; moved most by: {stability['worst']}"
    return html_table(ResultTable(title, ("attack", "kind", "distance", "what changed"), rows))


def _notes(evidence: Mapping[str, Any]) -> Iterator[str]:
    for name in DIMENSIONS:
        if found := evidence.get(name):
            yield from (f"{name}: {note}" for note in found["notes"])
            yield f"{name}: {found['signature']}"


class TextFinding(NamedTuple):
    """A span of the text, the kind of finding on it, and a line that explains it."""

    start: int
    end: int
    kind: str
    line: str


def shown_text(text: str, findings: Sequence[TextFinding], anchor: str) -> Markup:
    """The text with numbered findings; of a very long one only the beginning."""
    from markupsafe import Markup

    spans = [
        HighlightSpan(each.start, each.end, label=str(place), kind=each.kind)
        for place, each in enumerate(findings, start=1)
    ]
    cut = len(text) - MAX_CHARS
    rest = Markup("<i> … {:,} more characters</i>").format(cut) if cut > 0 else ""
    return html(text[:MAX_CHARS], spans, anchor) + rest


def findings_of(evidence: Mapping[str, Any]) -> list[TextFinding]:
    """The findings of grounding and logic, in the order of the text."""
    found = [
        *_claims(evidence.get("grounding") or {}),
        *_contradictions(evidence.get("logic") or {}),
    ]
    return sorted(found, key=lambda finding: (finding.start, finding.end))


def _claims(grounding: Mapping[str, Any]) -> Iterator[TextFinding]:
    for support in grounding.get("supports", ()):
        span = support["claim"]["span"]
        yield TextFinding(span["start"], span["end"], *_support(support))
    for claim in grounding.get("denied", ()):
        span, line = claim["span"], f"{claim['phrase']}: denied, not looked for"
        yield TextFinding(span["start"], span["end"], "denied", line)


def _support(support: Mapping[str, Any]) -> tuple[str, str]:
    """Whether the image supports a claim, as a kind and a line."""
    phrase, value, spot = support["claim"]["phrase"], support["value"], support["spot"]
    if support["unknown"] is not None or value is None:
        return "unknown", f"{phrase}: not known, {support['unknown'] or 'no value'}"
    at = f", best at x {spot['x']:,}, y {spot['y']:,}" if spot else ""
    scores = f"value {value:.3f}, cosine {support['cosine']:.3f}{at}"
    if value >= SUPPORTED:
        return "supported", f"{phrase}: supported by the image ({scores})"
    return "unsupported", f"{phrase}: not supported by the image ({scores})"


def _contradictions(logic: Mapping[str, Any]) -> Iterator[TextFinding]:
    for found in logic.get("contradictions", ()):
        first, second = found["first"], found["second"]
        why = f": {found['why']}" if found["why"] else ""
        source = f"({found['source']}, probability {found['probability']:.2f}){why}"
        for one, other in ((first, second), (second, first)):
            line = f"contradicts “{' '.join(other['text'].split())}” {source}"
            yield TextFinding(one["start"], one["end"], "contradicted", line)
