"""Tables on scores: means of systems by each metric, errors of reports, and rows with errors."""

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from histoeval.table import ResultTable

MAX_SYSTEM_COLUMNS = 3  # with more systems, each has a row
SYSTEMS_NAMED = 5  # so many systems that lack scores are named below the table
WHOLE_SIGNATURE = 79  # signatures up to this length are printed whole


def score_table(summary: dict[str, Any]) -> RenderableType:
    metrics = summary["metrics"]
    systems = _systems(summary)
    titles = [
        name if metric["higher_is_better"] else f"{name} (lower is better)"
        for name, metric in metrics.items()
    ]
    title = f"{summary['input']['name']}: mean over pairs, higher is better"
    if len(systems) > MAX_SYSTEM_COLUMNS:
        title += f"; sorted by {next(iter(metrics))}"
        columns = ["system", *titles, "scored"]
        rows: list[list[str | Text]] = [
            [
                system,
                *[_mean(metric, system) for metric in metrics.values()],
                "{:,} of {:,}".format(*_scored(summary, system)),
            ]
            for system in _ranked(summary)
        ]
    else:
        columns = ["metric", *systems, "range", "scored"]
        rows = []
        for titled, metric in zip(titles, metrics.values(), strict=True):
            totals = [metric["systems"][system] for system in systems]
            scored, pairs = sum(t["scored"] for t in totals), sum(t["pairs"] for t in totals)
            means = [_mean(metric, system) for system in systems]
            rows.append([titled, *means, range_text(*metric["range"]), f"{scored:,} of {pairs:,}"])
    table = ResultTable(title, columns, rows)
    return Group(table, *[Text(line) for line in _remarks(summary)])


def error_tables(summary: dict[str, Any]) -> Iterator[RenderableType]:
    """Errors that metrics list, by severity and kind; up to three systems are columns."""
    for name, metric in summary["metrics"].items():
        errors = {
            system: totals["report_errors"]
            for system in _ranked(summary)
            if "report_errors" in (totals := metric["systems"][system])
        }
        if not errors:
            continue
        kinds = sorted({kind for counts in errors.values() for kind in counts["by_kind"]})
        severities = next(iter(errors.values()))["by_severity"]
        heads = [*severities, "pairs with errors", *[kind.replace("_", " ") for kind in kinds]]
        rows = []
        for system, counts_by in errors.items():
            counts = [*counts_by["by_severity"].values(), counts_by["pairs"]]
            counts += [counts_by["by_kind"].get(kind, 0) for kind in kinds]
            rows.append([system, *[f"{count:,}" for count in counts]])
        columns = ["system", *heads]
        if len(errors) <= MAX_SYSTEM_COLUMNS:
            columns, *rows = map(list, zip(["errors", *heads], *rows, strict=True))
        title = f"\nErrors that {name} found, by severity and by kind"
        yield ResultTable(title, columns, rows)


def signature_lines(summary: dict[str, Any], *, whole: bool = False) -> Iterator[str]:
    """Yield the signature of each metric; long ones are shortened to a hash."""
    for metric in summary["metrics"].values():
        text = metric["signature"]
        if whole or len(text) <= WHOLE_SIGNATURE:
            yield text
        else:
            name, *_, version = text.split("|")
            digest = hashlib.sha256(text.encode()).hexdigest()[:8]
            yield f"{name}|…|{version}|sha256:{digest}"


def problem_table(summary: dict[str, Any]) -> ResultTable | None:
    errors = summary["errors"].items()
    rows = [(code, f"{error['count']:,}", error["example"]) for code, error in errors]
    columns = ["problem", "rows", "for example"]
    return ResultTable("Rows with errors", columns, rows) if rows else None


def range_text(low: float, high: float | None) -> str:
    bounded = high is not None and math.isfinite(high)
    return f"{low:g} to {high:g}" if bounded else f"{low:g} and up"


def _mean(metric: Mapping[str, Any], system: str) -> Text:
    totals = metric["systems"]
    mean = totals.get(system, {}).get("mean")
    if mean is None:
        return Text("none", style="red")
    means = [t["mean"] for t in totals.values() if t["mean"] is not None]
    best = max(means) if metric["higher_is_better"] else min(means)
    digits = 2 if abs(best) >= 10 else 4
    return Text(f"{mean:.{digits}f}", style="bold" if mean == best and len(means) > 1 else "")


def _systems(summary: dict[str, Any]) -> list[str]:
    names = (name for metric in summary["metrics"].values() for name in metric["systems"])
    return list(dict.fromkeys(names))


def _ranked(summary: dict[str, Any]) -> list[str]:
    """Rank the systems by the first metric, the best first; up to three keep their order."""
    systems = _systems(summary)
    if len(systems) <= MAX_SYSTEM_COLUMNS:
        return systems
    first = next(iter(summary["metrics"].values()))
    means = {system: first["systems"][system]["mean"] for system in systems}
    sign = -1 if first["higher_is_better"] else 1
    return sorted(systems, key=lambda name: (means[name] is None, sign * (means[name] or 0)))


def _scored(summary: dict[str, Any], system: str) -> tuple[int, int]:
    """Return how many pairs of a system all runnable metrics have scored, and the total."""
    metrics = summary["metrics"]
    able = [metric for name, metric in metrics.items() if name not in summary["unavailable"]]
    totals = [metric["systems"][system] for metric in able or metrics.values()]
    return min(total["scored"] for total in totals), totals[0]["pairs"]


def _remarks(summary: dict[str, Any]) -> list[str]:
    remarks = [*summary["input"]["notes"]]
    remarks += [f"{name} {reason}" for name, reason in summary["unavailable"].items()]
    remarks += [
        f"{name} failed on {failed['count']:,} pairs, for example: {failed['example']}"
        for name, metric in summary["metrics"].items()
        if name not in summary["unavailable"] and (failed := metric.get("failed"))
    ]
    if summary["rows_with_errors"]:
        remarks.append(
            f"{summary['rows_with_errors']:,} of {summary['rows']:,} rows have an error; "
            "missing scores are excluded from the means, not counted as 0."
        )
    counts = {system: _scored(summary, system) for system in _systems(summary)}
    most = max((scored for scored, _ in counts.values()), default=0)
    few = [f"{name} {n:,} of {of:,}" for name, (n, of) in counts.items() if n < most]
    if few:
        cut = few[:SYSTEMS_NAMED] + ["…"] * (len(few) > SYSTEMS_NAMED)
        remarks.append(
            f"Means are not of the same pairs: {', '.join(cut)}. `histoeval compare` compares "
            "systems on the same ones."
        )
    return remarks
