"""Trust as a self-contained page: verdicts, highlighted texts, and pictures of the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from histoeval.io.run_texts import has_texts, read_texts
from histoeval.io.store import read_json
from histoeval.io.writing import write_text, writing_to
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.pathgls.results import Grounding, GroundingVerdict
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.table import ResultTable, html_table, number
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import Website, data_uri, jpeg, render
from histoeval.view.image_evidence import claims_seen, grounding_of, organ_lines, verdict_words
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

CAPTIONS = {
    "image": "the image",
    "spot": "best tile for it",
    "against": "best tile against it",
    "heatmap": "heatmap: red speaks for it most, blue least",
}
"""Below pictures, by what they show."""

_MARKS: Mapping[GroundingVerdict | None, str] = {
    "supported": "supported",
    "contradicted": "refuted",
}
"""How a claim is marked in the text; all others are not known."""

_MADE_WITH = ("reader", "encoder", "nli", "distance", "subject", "top", "tiles")


def write_page(
    folder: TrustFolder, rows: Iterable[tuple[TrustRow, str | None]], summary: Mapping[str, Any]
) -> None:
    """Write the page of a run into its folder, atomically."""
    with writing_to(folder.folder):
        write_text(folder.page, page_text(folder, rows, summary))


def trust_page(path: Path, site: Website | None = None) -> str:
    """The page of a finished run, from the files in its folder."""
    folder = TrustFolder(path)
    rows = zip(folder, kept_texts(path), strict=False)
    return page_text(folder, rows, read_json(folder.summary, path), site)


def kept_texts(path: Path) -> Iterator[str | None]:
    """The reports of a run; a run of an earlier version has not kept them."""
    if not has_texts(path):
        yield from repeat(None)
    yield from (texts.get("report") for texts in read_texts(path))


def report_content(path: Path, row: TrustRow, text: str | None) -> dict[str, Any]:
    """What `trust_report.html` shows of one report of a run."""
    return _report(row, text, _Gallery(path))


def page_text(
    folder: TrustFolder,
    rows: Iterable[tuple[TrustRow, str | None]],
    summary: Mapping[str, Any],
    site: Website | None = None,
) -> str:
    """The page of a run, whose pictures lie in its folder."""
    gallery = _Gallery(folder.folder)
    return render(
        "trust.html",
        site=site,
        title=f"Trust in reports: {summary['input']['name']}",
        tables=map(html_table, trust_tables(summary, ())),
        policy=policy_line(summary["policy"]),
        meaning=meaning_lines(summary["policy"], "validated"),
        rows=summary["rows"],
        reports=[_report(row, text, gallery) for row, text in islice(rows, MAX_ROWS)],
        made_with=[f"{name}: {summary[name]}" for name in _MADE_WITH if summary[name] is not None],
    )


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
    findings, pictures = findings_of(evidence), evidence.get("pictures", ())
    return {
        "anchor": anchor,
        "id": row.id,
        "route": row.route,
        "trust": trust_text(row),
        "reason": evidence["trust"]["reason"],
        "dimensions": [_dimension(row, name) for name in DIMENSIONS],
        "text": None if text is None else shown_text(text, findings, anchor),
        "image": _image(grounding_of(evidence)),
        "findings": [_finding(finding, pictures, gallery) for finding in findings],
        "pictures": [_picture(each, gallery) for each in pictures if "claim" not in each],
        "shifts": _shifts(evidence.get("stability")),
        "notes": list(_notes(evidence)),
    }


def _dimension(row: TrustRow, name: str) -> dict[str, Any]:
    value = getattr(row, name)
    reasons = [error.message for error in row.errors if error.dimension in (name, None)]
    return {"name": name, "value": value, "number": number(value), "reason": "; ".join(reasons)}


def _image(grounding: Grounding | None) -> dict[str, Any] | None:
    """What the image says of a report as a whole."""
    if grounding is None:
        return None
    return {
        "verdict": verdict_words(grounding),
        "kind": grounding.verdict or "not_known",
        "why": grounding.why,
        "lines": list(organ_lines(grounding)),
    }


def _finding(
    finding: TextFinding, pictures: Iterable[Mapping[str, Any]], gallery: _Gallery
) -> dict[str, Any]:
    """A line below the text; with a claim, what there is to check it by."""
    own = [
        _picture(picture, gallery)
        for picture in pictures
        if finding.claim is not None
        and (picture.get("claim"), picture.get("start")) == (finding.claim, finding.start)
    ]
    return {"line": finding.line, "details": finding.details, "pictures": own}


def _picture(picture: Mapping[str, Any], gallery: _Gallery) -> dict[str, Any]:
    file, by = picture.get("file"), picture.get("encoder")
    return {
        "caption": CAPTIONS[picture["shows"]] + (f", by {by}" if by else ""),
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
    details: tuple[str, ...] = ()
    """What else can be checked."""
    claim: str | None = None
    """The phrase by which the pictures of a claim name it."""


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
        *_claims(grounding_of(evidence)),
        *_contradictions(evidence.get("logic") or {}),
    ]
    return sorted(found, key=lambda finding: (finding.start, finding.end))


def _claims(grounding: Grounding | None) -> Iterator[TextFinding]:
    if grounding is None:
        return
    for seen in claims_seen(grounding):
        claim, verdict = seen.support.claim, seen.support.verdict
        by = " by the image" if verdict in {"supported", "contradicted"} else ""
        yield TextFinding(
            claim.span.start,
            claim.span.end,
            _MARKS.get(verdict, "unknown"),
            f"{claim.phrase}: {seen.verdict}{by}; {seen.why}",
            tuple(seen.details()),
            claim.phrase,
        )
    for claim in grounding.denied:
        line = f"{claim.phrase}: denied, not looked for"
        yield TextFinding(claim.span.start, claim.span.end, "denied", line)


def _contradictions(logic: Mapping[str, Any]) -> Iterator[TextFinding]:
    for found in logic.get("contradictions", ()):
        first, second = found["first"], found["second"]
        why = f": {found['why']}" if found["why"] else ""
        source = f"({found['source']}, probability {found['probability']:.2f}){why}"
        for one, other in ((first, second), (second, first)):
            line = f"contradicts “{' '.join(other['text'].split())}” {source}"
            yield TextFinding(one["start"], one["end"], "contradicted", line)
