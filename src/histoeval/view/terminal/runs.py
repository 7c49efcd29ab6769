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
            "run": lambda details: details.run.name,
            "date": lambda details: time_text(details.run.changed),
            "verb": lambda details: (
                details.run.kind + ("" if details.run.finished else ", unfinished")
            ),
            "input": lambda details: details.input,
            "rows": lambda details: _count(details.rows),
            "problems": lambda details: _count(details.errors),
            "means": _means,
            "version": lambda details: details.version,
        },
    )


def old_runs_table(removables: Sequence[Removable], notes: Sequence[str]) -> ResultTable:
    return ResultTable.of(
        "Old runs",
        zip(removables, notes, strict=True),
        {
            "run": lambda row: row[0].run.name,
            "date": lambda row: time_text(row[0].run.changed),
            "verb": lambda row: row[0].run.kind,
            "files": lambda row: f"{len(row[0].files):,}",
            "bytes": lambda row: f"{row[0].size:,}",
            "note": lambda row: row[1],
        },
    )


def _count(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"


def _means(details: RunDetails) -> str:
    means = all_means(details.summary)
    has_several_systems = len({system for _, system in means}) > 1
    shown = [
        f"{name} {f'({system}) ' if has_several_systems else ''}{mean:.3f}"
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
    request = {name: setting for name, setting in details.request.items() if name != "metrics"}
    for title, content in (
        ("Errors", errors),
        ("Signatures", signatures_of(details)),
        ("Settings", flat(request)),
        ("Environment", details.summary.get("versions")),
        ("Commands", {command.get("time", ""): command["command"] for command in details.commands}),
    ):
        if isinstance(content, dict) and content:
            yield _pairs(title, content)


def _pairs(title: str, content: dict[str, Any]) -> ResultTable:
    return ResultTable(
        title, ["", "value"], [[name, _text(value)] for name, value in content.items()]
    )


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def diff_tables(diff: RunDiff, one: str, other: str, most: int) -> Iterator[ResultTable]:
    for title, differences in (("Settings and versions", diff.settings), ("Means", diff.means)):
        if differences:
            rows = [
                [difference.what, _text(difference.one), _text(difference.other)]
                for difference in differences
            ]
            yield ResultTable(f"{title} that differ", ["", one, other], rows)
        if title.startswith("Settings") and diff.signatures:
            rows = [
                [signature.what, _text(signature.one or signature.other)]
                for signature in diff.signatures
            ]
            yield ResultTable(f"Signatures: {one} and {other}", ["metric", "differs in"], rows)
    if diff.scores:
        shown = diff.scores[:most]
        yield ResultTable.of(
            f"Scores that differ: {len(diff.scores):,} of {diff.compared:,}, the largest first",
            shown,
            {
                "id": lambda score: score.id,
                "system": lambda score: score.system,
                "metric": lambda score: score.metric,
                one: lambda score: number(score.one, 4),
                other: lambda score: number(score.other, 4),
            },
        )
