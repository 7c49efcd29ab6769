"""The text of a report with what was found about its stretches, as HTML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

SUPPORTED = 0.5
"""From this calibrated value on a claim stands above claims that are foreign to the image."""

LONGEST = 20_000
"""Characters of a report that are shown."""


class Mark(NamedTuple):
    """A stretch of a text, what was found about it in one word, and a line on it for people."""

    start: int
    end: int
    kind: str
    line: str


def marks_of(evidence: Mapping[str, Any]) -> list[Mark]:
    """What grounding and logic say of stretches of the text, in the order of the text."""
    found = [*_grounded(evidence.get("grounding") or {}), *_torn(evidence.get("logic") or {})]
    return sorted(found, key=lambda mark: (mark.start, mark.end))


def marked_text(text: str, marks: Sequence[Mark], prefix: str) -> str:
    """The text cut at every border, each piece with all that lies over it; numbers lead on."""
    shown = text[:LONGEST]
    pieces = []
    borders = {at for mark in marks for at in (mark.start, mark.end) if at <= len(shown)}
    for start, end in pairwise(sorted({0, len(shown), *borders})):
        over = [mark for mark in marks if mark.start <= start and end <= mark.end]
        kinds = " ".join(dict.fromkeys(mark.kind for mark in over))
        piece = escape(shown[start:end])
        pieces.append(f'<mark class="{kinds}">{piece}</mark>' if over else piece)
        pieces += [
            f'<sup><a href="#{prefix}-{number}">{number}</a></sup>'
            for number, mark in enumerate(marks, start=1)
            if mark.end == end and mark.start < end
        ]
    if len(text) > len(shown):
        pieces.append(f"<i> … {len(text) - len(shown):,} more characters</i>")
    return "".join(pieces)


def marked_list(marks: Sequence[Mark], prefix: str) -> str:
    """What the numbers in the text mean."""
    lines = "".join(
        f'<li id="{prefix}-{number}">{escape(mark.line)}</li>'
        for number, mark in enumerate(marks, start=1)
    )
    return f"<ol>{lines}</ol>" if lines else ""


def _grounded(grounding: Mapping[str, Any]) -> Iterator[Mark]:
    for support in grounding.get("supports", ()):
        span = support["claim"]["span"]
        yield Mark(span["start"], span["end"], *_standing(support))
    for claim in grounding.get("denied", ()):
        span = claim["span"]
        yield Mark(
            span["start"], span["end"], "denied", f"{claim['phrase']}: denied, not looked for"
        )


def _standing(support: Mapping[str, Any]) -> tuple[str, str]:
    """Whether the image bears a claim out, and how that is said."""
    phrase = support["claim"]["phrase"]
    if support["unknown"] is not None or support["value"] is None:
        return "unknown", f"{phrase}: not known, {support['unknown'] or 'nothing can be said'}"
    value, spot = support["value"], support["spot"]
    at = f", best at x {spot['x']:,}, y {spot['y']:,}" if spot else ""
    figures = f"value {value:.3f}, cosine {support['cosine']:.3f}{at}"
    if value >= SUPPORTED:
        return "supported", f"{phrase}: borne out by the image ({figures})"
    return "unsupported", f"{phrase}: not borne out by the image ({figures})"


def _torn(logic: Mapping[str, Any]) -> Iterator[Mark]:
    for found in logic.get("contradictions", ()):
        first, second = found["first"], found["second"]
        why = f": {found['why']}" if found["why"] else ""
        told = f"({found['source']}, probability {found['probability']:.2f}){why}"
        for one, other in ((first, second), (second, first)):
            said = " ".join(other["text"].split())
            yield Mark(one["start"], one["end"], "contradicted", f"contradicts “{said}” {told}")
