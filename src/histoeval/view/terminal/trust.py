"""Trust in a terminal: what all reports come to, and the reports themselves, the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

from histoeval.run.trust.rows import TrustRow
from histoeval.table import ResultTable
from histoeval.trust.policy.policy import DIMENSIONS
from histoeval.view.highlight import one_line

NONE = "none"
"""In place of a number that is missing."""


def trust_tables(summary: Mapping[str, Any], worst: Sequence[TrustRow]) -> Iterator[ResultTable]:
    """The means with what is missing, the verdicts, and the reports that were handed over."""
    weights, means = summary["policy"]["weights"], summary["means"]
    rows = [
        (
            name,
            f"{weights[name]:g}" if name in weights else "",
            number(means[name]["mean"]),
            f"{means[name]['known']:,}",
            f"{means[name]['missing']:,}",
        )
        for name in (*DIMENSIONS, "trust")
    ]
    title = f"{summary['input']['name']}: {summary['rows']:,} reports"
    yield ResultTable(title, ("dimension", "weight", "mean", "known", "missing"), rows)
    counts = [(route, f"{count:,}") for route, count in summary["routes"].items()]
    yield ResultTable("Verdicts", ("verdict", "reports"), counts)
    if worst:
        yield ResultTable(
            "The least trusted reports", ("id", *_SHOWN), [_told(row) for row in worst]
        )


_SHOWN = (*DIMENSIONS, "trust", "verdict")


def _told(row: TrustRow) -> tuple[str, ...]:
    values = [number(getattr(row, name)) for name in DIMENSIONS]
    return one_line(row.id), *values, trust_text(row), row.route


def trust_text(row: TrustRow) -> str:
    """The value, or the bounds where something is missing."""
    if row.trust is not None:
        return number(row.trust)
    bounds = row.evidence["trust"]
    return f"{bounds['low']:.3f} to {bounds['high']:.3f}"


def least_trusted(rows: Iterable[TrustRow], most: int) -> list[TrustRow]:
    """The rows with the lowest trust by the most that it can be, in rising order."""
    return nsmallest(most, rows, key=lambda row: (row.evidence["trust"]["high"], row.row))


def policy_line(summary: Mapping[str, Any]) -> str:
    """The policy on one line."""
    policy = summary["policy"]
    top = policy["deploy_from"]
    deploy = "nothing is deployed" if top is None else f"deploy from {top:g}"
    floors = [f"{name} {at:g}" for name, at in policy["floors"].items() if at is not None]
    kept = f", floors: {', '.join(floors)}" if floors else ""
    kept += f", claims known from {policy['claims_known']:g}" if policy["claims_known"] else ""
    named = f"policy {policy['name']}@{policy['hash']}"
    return f"{deploy}, reject below {policy['reject_below']:g}{kept}; {named}"


def number(value: float | None) -> str:
    """Three digits, or that there is none."""
    return NONE if value is None else f"{value:.3f}"
