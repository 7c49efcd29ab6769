"""Tables on runs: a list of them, one of them, two of them."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from histoeval.run.history import Removable, RunDetails, RunDiff, all_means, flat, signatures_of
from histoeval.table import NONE, ResultTable, number

MOST_MEANS = 3  # means shown of one run in a list


def time_text(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


def runs_table(runs: Sequence[RunDetails]) -> ResultTable:
    return ResultTable.of(
        f"{len(runs):,} runs",
        runs,
        {
            "run": lambda each: each.run.name,
            "date": lambda each: time_text(each.run.changed),
            "verb": lambda each: each.run.kind + ("" if each.run.finished else ", unfinished"),
            "input": lambda each: each.input,
            "rows": lambda each: _count(each.rows),
            "problems": lambda each: _count(each.errors),
            "means": _means,
            "version": lambda each: each.version,
        },
    )


def old_runs_table(removables: Sequence[Removable], notes: Sequence[str]) -> ResultTable:
    return ResultTable.of(
        "Old runs",
        zip(removables, notes, strict=True),
        {
            "run": lambda each: each[0].run.name,
            "date": lambda each: time_text(each[0].run.changed),
            "verb": lambda each: each[0].run.kind,
            "files": lambda each: f"{len(each[0].files):,}",
            "bytes": lambda each: f"{each[0].size:,}",
            "note": lambda each: each[1],
        },
    )


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _means(details: RunDetails) -> str:
    means = all_means(details.summary)
    several = len({system for _, system in means}) > 1
    shown = [
        f"{name} {f'({system}) ' if several else ''}{mean:.3f}"
        for (name, system), mean in [*means.items()][:MOST_MEANS]
    ]
    more = len(means) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])


def run_tables(details: RunDetails) -> Iterator[ResultTable]:
    run = details.run
    facts = {
        "place": str(run.place),
        "date": time_text(run.changed),
        "state": "finished" if run.finished else "not finished: the same command resumes it",
        "input": details.input,
        "rows": _count(details.rows),
        "rows with errors": _count(details.errors),
        "histoeval": details.version,
    }
    yield _pairs(f"{run.name}: {run.kind}", facts)
    if means := all_means(details.summary):
        rows = [[name, system, number(mean, 4)] for (name, system), mean in means.items()]
        yield ResultTable("Means", ["metric", "system", "mean"], rows)
    errors = details.summary.get("errors")
    if isinstance(errors, dict):
        errors = {code: f"{row['count']:,} rows: {row['example']}" for code, row in errors.items()}
    request = {name: each for name, each in details.request.items() if name != "metrics"}
    for title, content in (
        ("Errors", errors),
        ("Signatures", signatures_of(details)),
        ("Settings", flat(request)),
        ("Environment", details.summary.get("versions")),
        ("Commands", {each.get("time", ""): each["command"] for each in details.commands}),
    ):
        if isinstance(content, dict) and content:
            yield _pairs(title, content)


def _pairs(title: str, content: dict[str, Any]) -> ResultTable:
    return ResultTable(
        title, ["", "value"], [[name, _text(each)] for name, each in content.items()]
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def diff_tables(diff: RunDiff, one: str, other: str, most: int) -> Iterator[ResultTable]:
    for title, differences in (("Settings and versions", diff.settings), ("Means", diff.means)):
        if differences:
            rows = [[each.what, _text(each.one), _text(each.other)] for each in differences]
            yield ResultTable(f"{title} that differ", ["", one, other], rows)
        if title.startswith("Settings") and diff.signatures:
            rows = [[each.what, _text(each.one or each.other)] for each in diff.signatures]
            yield ResultTable(f"Signatures: {one} and {other}", ["metric", "differs in"], rows)
    if diff.scores:
        shown = diff.scores[:most]
        yield ResultTable.of(
            f"Scores that differ: {len(diff.scores):,} of {diff.compared:,}, the largest first",
            shown,
            {
                "id": lambda each: each.id,
                "system": lambda each: each.system,
                "metric": lambda each: each.metric,
                one: lambda each: number(each.one, 4),
                other: lambda each: number(each.other, 4),
            },
        )
