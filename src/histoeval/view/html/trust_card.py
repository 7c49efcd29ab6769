"""One report of a trust run for a page: its text with marks, what was found, and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from histoeval.pathgls.policy.policy import DIMENSIONS, Policy
from histoeval.pathgls.results import Grounding, GroundingVerdict, Logic
from histoeval.run.trust.rows import TrustRow
from histoeval.table import ResultTable, html_table, number
from histoeval.view.highlight import HighlightSpan, html
from histoeval.view.html.page import data_uri, jpeg
from histoeval.view.image_evidence import (
    ClaimEvidence,
    claims_seen,
    grounding_of,
    organ_lines,
    verdict_words,
)
from histoeval.view.terminal.trust import trust_text
from histoeval.view.trust_words import (
    changes_when_asked_again,
    check_meanings,
    found_words,
    missing_words,
    plain_why,
    worded_reasons,
)

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_CHARS = 20_000
"""Characters of a report that are shown."""

MAX_PICTURE_BYTES = 16 * 2**20
"""Pictures inside the page; further ones are linked from the folder beside it."""

SIDE = 360
"""Pixels along the longer side of a picture on the page; a click opens the original."""

CAPTIONS = {
    "image": "the image",
    "spot": "the patch that speaks most for it",
    "against": "the patch that speaks least for it",
    "heatmap": "where the image speaks for it",
}
"""Below pictures, by what they show."""

_MARKS: Mapping[GroundingVerdict | None, str] = {
    "supported": "supported",
    "contradicted": "refuted",
}
"""How a claim is marked in the text; all others are not known."""


class Gallery:
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


def card(row: TrustRow, text: str | None, policy: Policy, gallery: Gallery) -> dict[str, Any]:
    """What `trust_report.html` shows of one report."""
    evidence, anchor = row.evidence, f"r{row.row}"
    findings, pictures = findings_of(evidence), evidence.get("pictures", ())
    return {
        "anchor": anchor,
        "id": row.id,
        "route": row.route,
        "cancer_checked": row.cancer_check != "not_checked",
        "reasons": [each.words for each in worded_reasons(row, policy)],
        "checks": list(_checks(row, policy)),
        "text": None if text is None else shown_text(text, findings, anchor),
        "image": _image(grounding_of(evidence)),
        "findings": [_finding(finding, pictures, gallery) for finding in findings],
        "pictures": [_picture(each, gallery) for each in pictures if "claim" not in each],
        "changes": list(changes_when_asked_again(evidence)),
    }


def _checks(row: TrustRow, policy: Policy) -> Iterator[dict[str, Any]]:
    """Each dimension: what it asks, what it found, and why nothing where nothing was."""
    for check in check_meanings():
        value = getattr(row, check.name)
        missing = [] if value is not None else missing_words(row, check.name)
        yield {
            "name": check.name,
            "question": check.question,
            "value": value,
            "found": found_words(row, check.name),
            "why": " ".join(each.words for each in missing),
            "asked": policy.asks(check.name),
        }


def _image(grounding: Grounding | None) -> dict[str, Any] | None:
    """What the image says of a report as a whole."""
    if grounding is None:
        return None
    return {
        "verdict": verdict_words(grounding),
        "kind": grounding.verdict or "not_known",
        "why": plain_why(grounding.why),
        "organ": _organ(grounding),
        "models": [verdict_words(member) for member in grounding.members],
    }


def _organ(grounding: Grounding) -> str | None:
    """Which organ is seen, beside those that the report names; nothing where the reason says it."""
    organ = grounding.organ
    if organ is None or organ.likeliest in grounding.why:
        return None
    seen = f"The tissue looks most like {organ.likeliest} ({organ.share:.0%} of patches)"
    if not organ.claimed:
        return f"{seen}; the report names no organ that the image check has learned."
    return f"{seen}; the report speaks of {' or '.join(organ.claimed)}."


def _finding(
    finding: TextFinding, pictures: Iterable[Mapping[str, Any]], gallery: Gallery
) -> dict[str, Any]:
    """A line below the text; with a claim, what there is to check it by."""
    own = [
        _picture(picture, gallery)
        for picture in pictures
        if finding.claim is not None
        and (picture.get("claim"), picture.get("start")) == (finding.claim, finding.start)
    ]
    return {"line": finding.line, "details": finding.details, "pictures": own}


def _picture(picture: Mapping[str, Any], gallery: Gallery) -> dict[str, Any]:
    file = picture.get("file")
    return {
        "caption": CAPTIONS[picture["shows"]],
        "scale": picture["shows"] == "heatmap" and file is not None,
        "file": file,
        "source": None if file is None else gallery.source(file),
        "problem": picture.get("problem"),
    }


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
        *_contradictions(evidence.get("logic")),
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
            f"{claim.phrase}: {seen.verdict}{by}; {plain_why(seen.why)}",
            tuple(_beside(seen)),
            claim.phrase,
        )
    for claim in grounding.denied:
        line = f"{claim.phrase}: said to be absent, so not looked for"
        yield TextFinding(claim.span.start, claim.span.end, "denied", line)


def _beside(seen: ClaimEvidence) -> Iterator[str]:
    """How much of the image speaks for a claim, and for what else it does."""
    if seen.agreeing:
        yield f"{seen.agreeing} patches of the image speak for it"
    if seen.decoy:
        yield f"of other organs and diseases the image fits best: {seen.decoy}"


def _contradictions(logic: Mapping[str, Any] | None) -> Iterator[TextFinding]:
    for found in () if logic is None else Logic.model_validate(logic).contradictions:
        verb = "contradicts" if found.is_likely else "may contradict"
        why = f": {found.why}" if found.why else ""
        for one, other in ((found.first, found.second), (found.second, found.first)):
            line = f"{verb} “{' '.join(other.text.split())}”{why}"
            yield TextFinding(one.start, one.end, "contradicted", line)


def technical_tables(rows: Iterable[TrustRow]) -> Iterator[ResultTable]:
    """All numbers of reports and their reasons as the files have them, for those who run checks."""
    rows = list(rows)
    yield ResultTable(
        "Reports",
        ("report", *DIMENSIONS, "trust", "reason and codes"),
        [_numbers(row) for row in rows],
    )
    claims = [(row.id, *cells) for row in rows for cells in _claim_numbers(row)]
    if claims:
        yield ResultTable("Claims", ("report", "claim", "evidence"), claims)
    moved = [
        (row.id, each["attack"], each["kind"], f"{each['distance']:.3f}")
        for row in rows
        for each in row.evidence.get("stability", {}).get("shifts", ())
    ]
    if moved:
        yield ResultTable("Reports under attack", ("report", "attack", "kind", "distance"), moved)
    notes = [(row.id, note) for row in rows for note in _notes(row.evidence)]
    if notes:
        yield ResultTable("Notes", ("report", "note"), notes)


def technical_part(row: TrustRow) -> list[str]:
    """The same of a single report, as HTML."""
    return [html_table(table) for table in technical_tables([row])]


def _numbers(row: TrustRow) -> tuple[str, ...]:
    codes = [f"{error.code}: {error.message}" for error in row.errors]
    reason = "; ".join([row.evidence["trust"]["reason"], *codes])
    return row.id, *(number(getattr(row, name)) for name in DIMENSIONS), trust_text(row), reason


def _claim_numbers(row: TrustRow) -> Iterator[tuple[str, str]]:
    grounding = grounding_of(row.evidence)
    for seen in () if grounding is None else claims_seen(grounding):
        yield seen.support.claim.phrase, "; ".join(seen.details())


def _notes(evidence: Mapping[str, Any]) -> Iterator[str]:
    grounding = grounding_of(evidence)
    if grounding is not None:
        yield from organ_lines(grounding)
    for name in DIMENSIONS:
        yield from (f"{name}: {note}" for note in evidence.get(name, {}).get("notes", ()))
    for found in evidence.get("logic", {}).get("contradictions", ()):
        yield f"logic: {found['source']}, probability {found['probability']:.2f}"
    for by in dict.fromkeys(each.get("encoder") for each in evidence.get("pictures", ())):
        if by:
            yield f"heatmaps by {by}"
