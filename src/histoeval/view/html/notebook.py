"""Scores, results, studies and extracted reports as HTML for a notebook.

A notebook has colours of its own and may run no script: styles are bound to our element, and what
belongs together lights up by CSS alone.
"""

import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import islice
from typing import Any

from markupsafe import Markup

from histoeval.metric import CorpusScore, Explanation, Score
from histoeval.report import Report
from histoeval.resources import resource_text
from histoeval.run.agree import Agreement
from histoeval.run.compare.compare import Comparison
from histoeval.run.results import Frames, Scores
from histoeval.table import ResultTable, html_table
from histoeval.view.html.page import STATIC, fragment
from histoeval.view.html.run_pages import apart_content, report_content
from histoeval.view.html.scores import SEVERITIES, pair_content
from histoeval.view.terminal.agreement import agreement_tables
from histoeval.view.terminal.comparison import comparison_tables

SHOWN_ROWS = 10  # rows that a notebook shows
SHOWN_CHARACTERS = 80  # characters of a cell that a notebook shows
_KEYS = re.compile(r'data-mark="([^"]+)"')


def notebook_html(thing: object) -> str:
    template, content = _content(thing)
    body = fragment(f"notebook/{template}", **content)
    name = f"histoeval-{sha256(body.encode('utf-8', 'backslashreplace')).hexdigest()[:10]}"
    keys = dict.fromkeys(key for marks in _KEYS.findall(body) for key in marks.split())
    rules = [  # for each mark one that lights up what belongs to it
        f'#{name}:has([data-mark~="{key}"]:is(:hover, :focus)) [data-mark~="{key}"]'
        for key in keys
        if key.isalnum()
    ]
    lit = f"{', '.join(rules)} {{ outline: 2px solid; outline-offset: 1px; }}" if rules else ""
    style = Markup(resource_text(f"{STATIC}/notebook.css") + lit)
    return fragment("notebook/frame.html", name=name, body=Markup(body), style=style)


def _content(thing: object) -> tuple[str, dict[str, Any]]:
    heading, apart = "", []
    tables: Iterable[ResultTable]
    if isinstance(thing, Report):
        return "report.html", {"report": report_content(thing)}
    if isinstance(thing, Score):
        name = thing.signature.metric
        score = thing.model_dump(include={"value", "parts", "evidence"})
        texts = None if thing.pair is None else thing.pair.model_dump()
        return "score.html", {
            **pair_content({"scores": {name: score}, "errors": ()}, texts, name),
            "heading": str(thing).partition("\n")[0],
            "costs": thing.breakdown if isinstance(thing, Explanation) else (),
            "signature": str(thing.signature),
        }
    if isinstance(thing, CorpusScore):
        heading = str(thing)
        rows = [
            ("pairs", f"{len(thing.scores):,}"),
            ("without a score", f"{len(thing.problems):,}"),
            ("mean over pairs", f"{thing.mean:.3f}"),
        ]
        tables = [ResultTable("", ("", ""), rows)]
    elif isinstance(thing, Agreement):
        heading = repr(thing).strip("<>")
        tables = islice(agreement_tables(thing.study, thing.plan), 1)
    elif isinstance(thing, Comparison):
        heading = repr(thing).strip("<>")
        tables = comparison_tables(thing.metric, thing.contest, ())
        apart = [apart_content(pair) for pair in thing.apart]
    elif isinstance(thing, Frames):
        tables = [_first_rows(thing)]
        if isinstance(thing, Scores) and (errors := thing.report_errors()):
            columns = ("metric", "system", *SEVERITIES)
            counts = [[str(error[name]) for name in columns] for error in errors]
            tables = [ResultTable("Errors in the reports", columns, counts), *tables]
    else:
        raise TypeError(f"no template for {type(thing).__name__}")
    shown = [*map(html_table, tables)]
    return "tables.html", {"heading": heading, "tables": shown, "apart": apart}


def _first_rows(thing: Frames) -> ResultTable:
    def cell(value: object) -> str:
        text = "" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[: SHOWN_CHARACTERS - 1]}…"

    first = list(islice(thing.records(), SHOWN_ROWS))
    columns = [name for name in (first[0] if first else ()) if "." not in name]
    rows = [[cell(record[name]) for name in columns] for record in first]
    return ResultTable(repr(thing).strip("<>"), columns, rows)
