"""The page of a `score` or `judge` run, from the files in its folder, and one pair for a notebook.

Nothing inside it can end the element that it stands in: JSON has no `<`, and packs are base64.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from markupsafe import Markup
from pydantic_core import from_json

from histoeval.io.finished_run import beside, has_texts, read_finished_lines
from histoeval.io.results import scores_file
from histoeval.io.store import read_json
from histoeval.statistics.resampling import RESAMPLES
from histoeval.table import html_table
from histoeval.view.findings import SIDES, Findings, findings_in, mention_spans, spans_of
from histoeval.view.highlight import html, one_line
from histoeval.view.html.page import Website, fragment, render
from histoeval.view.html.scores.columns import (
    BINS,
    SEVERITIES,
    ScoredPairs,
    compared,
    decimals,
    digits_of,
    error_metric,
    headlines,
    main_metric,
    metric_overviews,
)
from histoeval.view.terminal.comparison import comparison_tables
from histoeval.view.terminal.judge import (
    criteria_table,
    steadiness_tables,
    usage_table,
    without_difference,
)

# of a text that is shown; more would make a page slow, and is in texts.jsonl
MAX_CHARACTERS = 40_000
Texts = Mapping[str, str | None]


def pair_html(
    row: Mapping[str, Any],
    texts: Texts | None,
    marked_by: str | None,
    digits: Mapping[str, int] | None = None,
) -> str:
    """A row of scores.jsonl as a part of a page, with the findings of one metric marked."""
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
    """Both texts with the marks of the metric, or of HARE; of several references the best one."""
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


PACKED = 40  # fragments in one pack: few enough to be unpacked at once, enough to be small together

# all packs of a page together; what comes later is left out, and the page says so
MAX_BYTES = 21_000_000
_STEERING = "<>&\u2028\u2029"  # what could end an element, or a line of a script
SCRIPTS = ("vendor/tabulator.min.js", "marks.js", "pairs.js")

STYLES = ("vendor/tabulator.min.css", "scores.css")


def embedded_json(content: Any) -> str:
    """JSON for a `<script type="application/json">`."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in _STEERING:
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def packed(fragments: Iterable[str]) -> tuple[list[str], int]:
    """Packs of fragments of HTML, and how many fragments there was room for: the first ones."""
    packs: list[str] = []
    shown, room = 0, MAX_BYTES
    rest = iter(fragments)
    while batch := list(islice(rest, PACKED)):
        if room > 0:
            content = json.dumps(batch, ensure_ascii=False).encode("utf-8", "backslashreplace")
            packs.append(b64encode(gzip.compress(content, 6, mtime=0)).decode("ascii"))
            room -= len(packs[-1])
            shown += len(batch)
    return packs, shown


def score_rows(folder: Path) -> Iterator[dict[str, Any]]:
    def read(line: bytes) -> dict[str, Any]:
        row = from_json(line)
        if not isinstance(row, dict) or not {"id", "system", "scores", "errors"} <= row.keys():
            raise ValueError("not a row of scores")
        return row

    return read_finished_lines(scores_file(folder), read)


def read_columns(folder: Path, summary: Mapping[str, Any]) -> ScoredPairs:
    columns = ScoredPairs(list(summary["metrics"]), error_metric(summary))
    for row, texts in beside(score_rows(folder), folder):
        columns.add(row, None if texts is None else texts.get("reference"))
    return columns


def score_page(folder: Path, site: Website | None = None) -> str:
    """The page of a finished run: for a file that needs no other, or for a site."""
    summary = read_json(folder / "summary.json", folder)
    judged_by = error_metric(summary)
    marked_by = judged_by or ("hare" if "hare" in summary["metrics"] else None)
    columns, digits = ScoredPairs(list(summary["metrics"]), judged_by), digits_of(summary)

    def pairs() -> Iterator[str]:
        for row, texts in beside(score_rows(folder), folder):
            columns.add(row, None if texts is None else texts.get("reference"))
            yield pair_html(row, texts, marked_by, digits)

    packs, shown = packed(pairs())
    found, contest = headlines(columns, summary), compared(columns, summary)
    judging = _judging(folder, summary)
    kinds: Counter[str] = Counter()
    for each in found:
        kinds.update(each.kinds)
    metrics, main = metric_overviews(columns, summary), main_metric(columns)
    return render(
        "scores/page.html",
        site=site,
        scripts=SCRIPTS,
        styles=STYLES,
        title=f"Scores: {summary['input']['name']}",
        summary=summary,
        pairs=len(columns),
        systems=[name for name in columns.systems if name],
        headlines=found,
        longest=max((each.per_hundred() for each in found), default=0.0) or 1.0,
        severities=SEVERITIES,
        kinds=sorted(kinds, key=lambda kind: (-kinds[kind], kind)),
        judged_by=judged_by,
        marked_by=marked_by,
        metrics=metrics,
        main=next((each for each in metrics if each.name == main), None),
        critical={each.system: each for each in found},
        decimals=decimals,
        bins=BINS,
        draws=RESAMPLES,
        comparison=[*map(html_table, comparison_tables(*contest, ()))] if contest else [],
        judging=judging,
        judging_warning=without_difference(summary, judge_name(summary)) if judging else "",
        organs=sorted(name for name in columns.organs if name),
        has_texts=has_texts(folder),
        shown=shown,
        data=Markup(embedded_json({**columns.content(digits), "packed": PACKED, "shown": shown})),
        packs=map(Markup, packs),
    )


def judge_name(summary: Mapping[str, Any]) -> str:
    return f"judge_{summary['judge']['prompt']['name']}"


def _judging(folder: Path, summary: Mapping[str, Any]) -> list[str]:
    if summary.get("judge") is None:
        return []
    usage = folder / "usage.json"
    tables = [criteria_table(summary, judge_name(summary))]
    tables += steadiness_tables(summary["judge"])
    tables += [usage_table(read_json(usage, folder))] if usage.is_file() else []
    return [html_table(each._replace(title=each.title.strip())) for each in tables]
