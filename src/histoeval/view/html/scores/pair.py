"""One pair for a page or a notebook: both texts with their marks, errors, matches and parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from histoeval.concordance.evidence import Severity
from histoeval.view.findings import (
    SIDES,
    Findings,
    ShownError,
    ShownMatch,
    findings_in,
    mention_spans,
    spans_of,
)
from histoeval.view.highlight import html, one_line
from histoeval.view.html.page import fragment

MAX_CHARACTERS = 40_000
"""Of a text that is shown; more would make a page slow, and is in texts.jsonl."""

TEMPLATE = "scores/pair.html"

Texts = Mapping[str, str | None]


def pair_html(row: Mapping[str, Any], texts: Texts | None, marked_by: str | None) -> str:
    """A row of scores.jsonl as a part of a page.

    Args:
        row: the row as it is stored.
        texts: its reference and candidate; None where the run has not kept them.
        marked_by: the metric whose matches and errors are marked.
    """
    return fragment(TEMPLATE, **pair_content(row, texts, marked_by))


def pair_content(
    row: Mapping[str, Any], texts: Texts | None, marked_by: str | None
) -> dict[str, Any]:
    """What the template of a pair shows."""
    scores = row["scores"]
    evidence = scores.get(marked_by or "", {}).get("evidence", {})
    found = findings_in(evidence) or Findings()
    return {
        "scores": [_score(name, result) for name, result in scores.items()],
        "problems": [problem["message"] for problem in row["errors"]],
        "texts": None if texts is None else _texts(texts, found, scores, marked_by),
        "marked_by": marked_by,
        "errors": shown_errors(found),
        "matches": [_match(n, each) for n, each in enumerate(found.facts, start=1)],
        "specimens": [(each.reference.text, each.candidate.text) for each in found.specimens],
        "reasons": [*_reasons(scores)],
    }


def _score(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "value": result["value"], "parts": result.get("parts", {})}


def _texts(
    texts: Texts, found: Findings, scores: Mapping[str, Any], marked_by: str | None
) -> list[dict[str, Any]]:
    """Both texts with their marks: of the chosen metric, or else of HARE's entities."""
    mentions = None
    if found.errors is None and found.matches is None:
        own = scores.get(marked_by or "hare", {}).get("evidence", {})
        mentions = mention_spans(own)
    shown = []
    for side in SIDES:
        text = texts.get(side)
        if text is None:
            shown.append({"side": side, "text": None, "cut": 0})
            continue
        spans = spans_of(found, side, text) if mentions is None else mentions[side]
        part = text[:MAX_CHARACTERS]
        shown.append({"side": side, "text": html(part, spans), "cut": len(text) - len(part)})
    return shown


def shown_errors(found: Findings) -> list[dict[str, Any]] | None:
    """The errors as a table shows them; None where the metric does not look for any."""
    return None if found.errors is None else [_error(n, e) for n, e in enumerate(found.errors, 1)]


def _error(n: int, error: ShownError) -> dict[str, Any]:
    return {
        "key": f"e{n}",
        "label": f"{error.marks}{n}",
        "severity": Severity(error.severity).name.lower(),
        "kind": error.kind.replace("_", " "),
        "outcome": error.outcome,
        "words": one_line(error.words),
        "specimen": error.specimen,
    }


def _match(n: int, match: ShownMatch) -> dict[str, Any]:
    return {
        "key": f"m{n}",
        "label": f"={n}",
        "part": match.part.replace("_", " "),
        "reference": one_line(match.reference.text),
        "candidate": one_line(match.candidate.text),
        "similarity": match.similarity,
    }


def _reasons(scores: Mapping[str, Any]) -> Any:
    """What judges, and the rubric, say in words."""
    for name, result in scores.items():
        evidence = result.get("evidence", {})
        if isinstance(evidence.get("reasoning"), str) and evidence["reasoning"]:
            yield name, evidence["reasoning"]
        for answer in evidence.get("answers", ()):
            if isinstance(answer, Mapping) and answer.get("reasoning"):
                yield f"{name} ({answer.get('judge', 'judge')})", str(answer["reasoning"])
