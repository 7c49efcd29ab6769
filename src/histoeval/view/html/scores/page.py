"""The page of a `score` or `judge` run, from the files in its folder.

Nothing inside it can end the element that it stands in: JSON has no `<`, and packs are base64.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from histoeval.view.html.page import Website, render
from histoeval.view.html.scores.columns import (
    BINS,
    SEVERITIES,
    Headline,
    ScoredPairs,
    compared,
    decimals,
    digits_of,
    error_metric,
    headlines,
    main_metric,
    metric_overviews,
)
from histoeval.view.html.scores.pair import pair_html
from histoeval.view.terminal.comparison import comparison_tables
from histoeval.view.terminal.judge import (
    criteria_table,
    steadiness_tables,
    usage_table,
    without_difference,
)

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
        kinds=_kinds(found),
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


def _kinds(found: Sequence[Headline]) -> list[str]:
    counts: Counter[str] = Counter()
    for each in found:
        counts.update(each.kinds)
    return sorted(counts, key=lambda kind: (-counts[kind], kind))


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
