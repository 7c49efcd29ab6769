"""One pair for a page or a notebook: both texts with their marks, errors, matches and parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from histoeval.view.findings import SIDES, Findings, findings_in, mention_spans, spans_of
from histoeval.view.highlight import html, one_line
from histoeval.view.html.page import fragment

# of a text that is shown; more would make a page slow, and is in texts.jsonl
MAX_CHARACTERS = 40_000
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
    return fragment("scores/pair.html", **pair_content(row, texts, marked_by, digits))


def pair_content(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    scores = row["scores"]
    evidence = scores.get(marked_by or "", {}).get("evidence", {})
    typed = findings_in(evidence)
    findings = typed or Findings()
    errors = evidence.get("errors")
    return {
        "scores": [
            (
                name,
                f"{result['value']:.{(digits or {}).get(name, 3)}f}",
                # many rows, and nearly the same for every pair
                Markup("".join(_part(n, f"{v:.2f}") for n, v in result.get("parts", {}).items())),
            )
            for name, result in sorted(scores.items(), key=lambda item: item[0] != marked_by)
        ],
        "problems": [problem["message"] for problem in row["errors"]],
        "texts": None if texts is None else _texts(texts, findings, scores, marked_by),
        "marked_by": marked_by,
        "errors": findings.errors,
        # the errors of a metric of somebody else, which may say nothing but a sentence
        "messages": [
            one_line(str(error["message"]))
            for error in (errors if not typed and isinstance(errors, list | tuple) else ())
            if isinstance(error, Mapping) and "message" in error
        ],
        "matches": findings.facts,
        "specimens": findings.specimens,
        "reasons": [
            reason
            for name, result in scores.items()
            for reason in judge_reasons(name, result.get("evidence", {}))
        ],
    }


@lru_cache(maxsize=1 << 14)
def _part(name: str, value: str) -> Markup:
    row = Markup('<tr><td>{}</td><td class="n">{}</td></tr>')
    return row.format(name.replace("_", " "), value)


def _texts(
    texts: Texts, findings: Findings, scores: Mapping[str, Any], marked_by: str | None
) -> list[tuple[str, Markup | None, int]]:
    """Both texts with their marks: of the chosen metric, or else of HARE's entities.

    Of several references it is the best one, to which the marks belong.
    """
    mentions = None
    if findings.errors is None and findings.matches is None:
        mentions = mention_spans(scores.get(marked_by or "hare", {}).get("evidence", {}))
    key = label = "reference"
    if (count := sum(name.startswith("reference") for name in texts)) > 1:
        evidence = scores.get(marked_by or "", {}).get("evidence", {})
        best = evidence.get("references", {}).get("best", 1)
        key = "reference" if best == 1 else f"reference_{best}"
        label = f"reference {best} of {count}"
    shown: list[tuple[str, Markup | None, int]] = []
    for side, name, text in zip(
        SIDES, (label, "candidate"), (texts.get(key), texts.get("candidate")), strict=True
    ):
        if text is None:
            shown.append((side, None, 0))
            continue
        spans = spans_of(findings, side, text) if mentions is None else mentions[side]
        part = text[:MAX_CHARACTERS]
        shown.append((name, html(part, spans), len(text) - len(part)))
    return shown


def judge_reasons(name: str, evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The words of the rubric or of each judge: which one, asked when, and in which order."""
    answers = evidence.get("answers", ())
    if not answers and isinstance(evidence.get("reasoning"), str) and evidence["reasoning"]:
        yield name, evidence["reasoning"]
    for answer in answers:
        if isinstance(answer, Mapping) and answer.get("reasoning"):
            model = str(answer.get("judge", name)).rpartition("@")[0] or name
            again = f", repeat {answer['repeat'] + 1}" if answer.get("repeat") else ""
            swapped = answer.get("order", "usual") != "usual"
            order = ", with the reports swapped" if swapped else ""
            yield f"{name} ({model}{again}{order})", str(answer["reasoning"])
