"""What all pairs of a run come to: errors by kind and severity, means, distributions, systems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from histoeval.agreement.systems import Contest, contest
from histoeval.statistics.resampling import Estimate, Numbers, Positions, mean_estimates
from histoeval.view.html.scores.columns import PREFERRED, SEVERITIES, ScoredPairs

MAX_COMPARED = 12
"""Systems that are compared with each other on the page, the first ones."""

BINS = 20


class Headline(NamedTuple):
    """The errors of one system, by severity and by kind."""

    system: str
    scored: int
    pairs: int
    """Pairs with any error."""
    critical: int
    """Pairs with a critical one."""
    severities: Mapping[str, int]
    kinds: Mapping[str, int]

    @property
    def errors(self) -> int:
        """All errors."""
        return sum(self.severities.values())

    @property
    def in_hundred(self) -> float:
        """All errors in 100 scored reports."""
        return 100 * self.errors / self.scored if self.scored else 0.0

    def per_hundred(self, severity: str) -> float:
        """Errors of a severity in 100 scored reports."""
        return 100 * self.severities[severity] / self.scored if self.scored else 0.0


class SystemMean(NamedTuple):
    """The mean of a metric over the pairs of a system, and how its values are spread."""

    system: str
    mean: Estimate
    scored: int
    pairs: int
    bins: Sequence[int]
    quartiles: Sequence[float]


class MetricOverview(NamedTuple):
    """One metric over all systems."""

    name: str
    low: float
    high: float
    higher_is_better: bool
    systems: Sequence[SystemMean]

    @property
    def most(self) -> int:
        """The highest bar of all systems."""
        return max((max(each.bins, default=0) for each in self.systems), default=0)


def headlines(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[Headline]:
    """The errors of each system, the best system first."""
    name = columns.judged_by
    if name is None:
        return []
    found = []
    systems = summary["metrics"][name]["systems"]
    for system in [each for each in best_first(columns, summary) if each in systems]:
        totals = systems[system]
        errors = totals.get("report_errors")
        if errors is None:
            continue
        rows = columns.of_system(system)
        critical = sum(1 for row in rows if columns.severity[row][0])
        found.append(
            Headline(
                system,
                totals["scored"],
                errors["pairs"],
                critical,
                {severity: errors["by_severity"][severity] for severity in SEVERITIES},
                errors["by_kind"],
            )
        )
    return found


def best_first(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[str]:
    """The systems by their mean on the main metric; those without one last."""
    metric = main_metric(columns)
    if metric is None:
        return list(columns.systems)
    sign = 1.0 if summary["metrics"][metric]["higher_is_better"] else -1.0

    def place(system: str) -> float:
        values = columns.column(metric)[columns.of_system(system)]
        known = values[~np.isnan(values)]
        return -sign * float(known.mean()) if len(known) else np.inf

    return sorted(columns.systems, key=place)


def overviews(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[MetricOverview]:
    """Means with intervals and distributions, of every metric and system."""
    systems = [name for name in best_first(columns, summary) if name]
    ids = np.asarray(columns.ids)
    rows = {name: (own := columns.of_system(name))[ids[own].argsort()] for name in systems}
    values = {name: columns.column(name) for name in summary["metrics"]}
    means = _means(values, rows, ids)
    found = []
    for name, about in summary["metrics"].items():
        low, high = _bounds(about["range"], values[name])
        each = [
            _system_mean(system, values[name][rows[system]], means[name, system], (low, high))
            for system in systems
        ]
        found.append(MetricOverview(name, low, high, about["higher_is_better"], each))
    return found


def _means(
    values: Mapping[str, Numbers], rows: Mapping[str, Positions], ids: np.ndarray[Any, Any]
) -> dict[tuple[str, str], Estimate]:
    """The mean of every metric and system; those of as many pairs share their draws."""
    alike: dict[bytes, list[tuple[tuple[str, str], Positions, Numbers]]] = {}
    for metric, column in values.items():
        for system, own in rows.items():
            known = own[~np.isnan(column[own])]
            _, case = np.unique(ids[known], return_inverse=True)
            alike.setdefault(case.tobytes(), []).append(((metric, system), case, column[known]))
    found: dict[tuple[str, str], Estimate] = {}
    for group in alike.values():
        keys = [key for key, _, _ in group]
        case, table = group[0][1], np.stack([known for _, _, known in group], axis=1)
        nothing = [None] * len(keys)
        means = mean_estimates(table, case, nothing) if len(case) else [Estimate()] * len(keys)
        found |= zip(keys, means, strict=True)
    return found


def _system_mean(
    system: str, values: Numbers, mean: Estimate, bounds: tuple[float, float]
) -> SystemMean:
    """The mean of the values that are there, and how they are spread."""
    known = values[~np.isnan(values)]
    bins, _ = np.histogram(known, BINS, bounds)
    quartiles = np.quantile(known, (0.25, 0.5, 0.75)).tolist() if len(known) else ()
    return SystemMean(system, mean, len(known), len(values), bins.tolist(), quartiles)


def _bounds(limits: Sequence[float | None], values: Numbers) -> tuple[float, float]:
    """Where the axis of a metric runs: its range, or that of its values."""
    known = values[~np.isnan(values)]
    low = limits[0] if limits[0] is not None else float(known.min(initial=0.0))
    high = limits[1] if limits[1] is not None else float(known.max(initial=low + 1.0))
    return (low, high) if high > low else (low, low + 1.0)


def main_metric(columns: ScoredPairs) -> str | None:
    """The metric that systems are compared by: concordance, or the first with any score."""
    scored = [
        name for name in columns.metrics if any(v is not None for v in columns.values.get(name, ()))
    ]
    return PREFERRED if PREFERRED in scored else next(iter(scored), None)


def compared(columns: ScoredPairs, summary: Mapping[str, Any]) -> tuple[str, Contest] | None:
    """The systems on the pairs that all of them have; None where there is nothing to compare."""
    metric = main_metric(columns)
    systems = [name for name in columns.systems if name][:MAX_COMPARED]
    if metric is None or len(systems) < 2:
        return None
    sign = 1.0 if summary["metrics"][metric]["higher_is_better"] else -1.0
    values = columns.column(metric)
    scores: dict[str, dict[str, float]] = {}
    for system in systems:
        rows = columns.of_system(system)
        scores[system] = {columns.ids[r]: sign * values[r] for r in rows if not np.isnan(values[r])}
    shared = [name for name in scores[systems[0]] if all(name in each for each in scores.values())]
    if not shared:
        return None
    table = {system: np.array([each[name] for name in shared]) for system, each in scores.items()}
    return metric, contest(table, shared)
