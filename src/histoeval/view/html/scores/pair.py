"""One pair for a page or a notebook: both texts with their marks, errors, matches and parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

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

if TYPE_CHECKING:
    from markupsafe import Markup

MAX_CHARACTERS = 40_000
"""Of a text that is shown; more would make a page slow, and is in texts.jsonl."""

TEMPLATE = "scores/pair.html"

Texts = Mapping[str, str | None]


def pair_html(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> str:
    """A row of scores.jsonl as a part of a page.

    Args:
        row: the row as it is stored.
        texts: its reference and candidate; None where the run has not kept them.
        marked_by: the metric whose matches and errors are marked.
        digits: decimals of each metric's values; three where it is not named.
    """
    return fragment(TEMPLATE, **pair_content(row, texts, marked_by, digits))


def pair_content(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """What the template of a pair shows."""
    scores = row["scores"]
    evidence = scores.get(marked_by or "", {}).get("evidence", {})
    typed = findings_in(evidence)
    found = typed or Findings()
    first = sorted(scores.items(), key=lambda each: each[0] != marked_by)
    return {
        "scores": [_score(name, each, (digits or {}).get(name, 3)) for name, each in first],
        "problems": [problem["message"] for problem in row["errors"]],
        "texts": None if texts is None else _texts(texts, found, scores, marked_by),
        "marked_by": marked_by,
        "errors": shown_errors(found),
        "messages": [] if typed else [*_messages(evidence)],
        "matches": [_match(n, each) for n, each in enumerate(found.facts, start=1)],
        "specimens": [(each.reference.text, each.candidate.text) for each in found.specimens],
        "reasons": [*_reasons(scores)],
    }


def _score(name: str, result: Mapping[str, Any], digits: int) -> tuple[str, str, Markup]:
    return name, f"{result['value']:.{digits}f}", _parts(result.get("parts", {}))


def _texts(
    texts: Texts, found: Findings, scores: Mapping[str, Any], marked_by: str | None
) -> list[tuple[str, Markup | None, int]]:
    """Both texts with their marks: of the chosen metric, or else of HARE's entities."""
    mentions = None
    if found.errors is None and found.matches is None:
        own = scores.get(marked_by or "hare", {}).get("evidence", {})
        mentions = mention_spans(own)
    shown: list[tuple[str, Markup | None, int]] = []
    number, label = _reference(texts, scores.get(marked_by or "", {}).get("evidence", {}))
    for side in SIDES:
        text = texts.get(number if side == "reference" else side)
        if text is None:
            shown.append((side, None, 0))
            continue
        spans = spans_of(found, side, text) if mentions is None else mentions[side]
        part = text[:MAX_CHARACTERS]
        name = label if side == "reference" else side
        shown.append((name, html(part, spans), len(text) - len(part)))
    return shown


def _reference(texts: Texts, evidence: Mapping[str, Any]) -> tuple[str, str]:
    """Which reference of a case the marks belong to: the best of several; and what to call it."""
    count = sum(name.startswith("reference") for name in texts)
    if count < 2:
        return "reference", "reference"
    best = evidence.get("references", {}).get("best", 1)
    return "reference" if best == 1 else f"reference_{best}", f"reference {best} of {count}"


class ErrorLine(NamedTuple):
    """An error as a table shows it."""

    key: str
    label: str
    severity: str
    kind: str
    words: str
    specimen: str


class MatchLine(NamedTuple):
    """A match as a table shows it."""

    key: str
    label: str
    part: str
    reference: str
    candidate: str
    similarity: str


def shown_errors(found: Findings) -> list[ErrorLine] | None:
    """The errors as a table shows them; None where the metric does not look for any."""
    return None if found.errors is None else [_error(n, e) for n, e in enumerate(found.errors, 1)]


def _error(n: int, error: ShownError) -> ErrorLine:
    return ErrorLine(
        f"e{n}",
        str(n),
        error.severity.name.lower(),
        error.kind.replace("_", " "),
        one_line(error.words),
        error.specimen,
    )


def _match(n: int, match: ShownMatch) -> MatchLine:
    return MatchLine(
        f"m{n}",
        f"={n}",
        match.part.replace("_", " "),
        one_line(match.reference.text),
        one_line(match.candidate.text),
        f"{match.similarity:.2f}",
    )


def _parts(parts: Mapping[str, float]) -> Markup:
    """The rows of the table of parts, which are many and nearly the same for every pair."""
    from markupsafe import Markup

    return Markup("".join([_part(name, f"{value:.2f}") for name, value in parts.items()]))


@lru_cache(maxsize=1 << 14)
def _part(name: str, value: str) -> Markup:
    from markupsafe import Markup

    row = Markup('<tr><td>{}</td><td class="n">{}</td></tr>')
    return row.format(name.replace("_", " "), value)


def _messages(evidence: Mapping[str, Any]) -> Iterator[str]:
    """The errors of a metric of somebody else, which may say nothing but a sentence."""
    errors = evidence.get("errors")
    for error in errors if isinstance(errors, list | tuple) else ():
        if isinstance(error, Mapping) and "message" in error:
            yield one_line(str(error["message"]))


def _reasons(scores: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the rubric and each judge say in words."""
    for name, result in scores.items():
        evidence = result.get("evidence", {})
        answers = evidence.get("answers", ())
        if not answers and isinstance(evidence.get("reasoning"), str) and evidence["reasoning"]:
            yield name, evidence["reasoning"]
        for answer in answers:
            if isinstance(answer, Mapping) and answer.get("reasoning"):
                yield _asked(name, answer), str(answer["reasoning"])


def _asked(name: str, answer: Mapping[str, Any]) -> str:
    """Which judge answered, at which time, and to which question."""
    model = str(answer.get("judge", name)).rpartition("@")[0] or name
    again = f", repeat {answer['repeat'] + 1}" if answer.get("repeat") else ""
    turned = "" if answer.get("order", "usual") == "usual" else ", with the reports swapped"
    return f"{name} ({model}{again}{turned})"
