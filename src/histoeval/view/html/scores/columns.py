"""The pairs of a run as columns, gathered in one pass, and what they all come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from histoeval.agreement.systems import Contest, contest
from histoeval.concordance.evidence import Severity
from histoeval.console import visible
from histoeval.facts.sampled import heading_sites
from histoeval.statistics.resampling import Estimate, Numbers, Positions, mean_estimates
from histoeval.terms.sites import find_sites, organ_of, sites

# the worst first
SEVERITIES = tuple(severity.name.lower() for severity in sorted(Severity, reverse=True))
PREFERRED = "concordance"  # where several metrics list errors, this one's are shown

# characters of a reference in which its organ is looked for, if its heading names none
_OPENING = 400
MAX_COMPARED = 12  # systems that are compared with each other on the page, the first ones
BINS = 20


def error_metric(summary: Mapping[str, Any]) -> str | None:
    listing = [
        name
        for name, metric in summary["metrics"].items()
        if any("report_errors" in totals for totals in metric["systems"].values())
    ]
    return PREFERRED if PREFERRED in listing else next(iter(listing), None)


@lru_cache(maxsize=1 << 14)
def organ(reference: str | None) -> str:
    """The organ that a reference begins with; empty where it names none."""
    if not reference:
        return ""
    places = heading_sites(reference) or find_sites(reference[:_OPENING])
    return sites()[organ_of(places[0].id)].name if places else ""


def numbered() -> dict[str, int]:
    """Names in the order of their first appearance, each with a number that it gets then."""
    names: defaultdict[str, int] = defaultdict()
    names.default_factory = names.__len__
    return names


@dataclass
class ScoredPairs:
    """One entry of every column for each pair, in the order of the run."""

    metrics: Sequence[str]
    judged_by: str | None  # the metric whose errors are counted
    ids: list[str] = field(default_factory=list)
    systems: dict[str, int] = field(default_factory=numbered)
    system: list[int] = field(default_factory=list)
    organs: dict[str, int] = field(default_factory=numbered)
    organ: list[int] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=numbered)
    kind: list[list[int]] = field(default_factory=list)
    # how many errors of each severity, the worst first
    severity: list[list[int]] = field(default_factory=list)
    values: dict[str, list[float | None]] = field(default_factory=dict)
    # why scores are missing, by the codes of the problems
    missing: list[str] = field(default_factory=list)

    def add(self, row: Mapping[str, Any], reference: str | None) -> None:
        self.ids.append(row["id"])
        self.system.append(self.systems[row["system"] or ""])
        self.organ.append(self.organs[organ(reference)])
        scores = row["scores"]
        for name in self.metrics:
            value = scores[name]["value"] if name in scores else None
            self.values.setdefault(name, []).append(value)
        evidence = scores.get(self.judged_by or "", {}).get("evidence", {})
        errors = [error for error in evidence.get("errors", ()) if isinstance(error, Mapping)]
        self.kind.append(sorted({self.kinds[error["kind"]] for error in errors}))
        counts = [0] * len(SEVERITIES)
        for error in errors:
            counts[-error["severity"]] += 1
        self.severity.append(counts)
        self.missing.append(", ".join(dict.fromkeys(each["code"] for each in row["errors"])))

    def __len__(self) -> int:
        return len(self.ids)

    def of_system(self, name: str) -> Positions:
        return np.flatnonzero(np.asarray(self.system) == self.systems[name])

    def column(self, metric: str) -> Numbers:
        return np.asarray(self.values.get(metric, []), dtype=np.float64)

    def records(self) -> Iterator[dict[str, Any]]:
        """What is known of each pair beside its scores, as flat records."""
        organs, kinds = list(self.organs), list(self.kinds)
        for row in range(len(self)):
            counts = dict(zip(SEVERITIES, self.severity[row], strict=True))
            named = ", ".join(kinds[kind] for kind in self.kind[row])
            judged = {**counts, "kinds": named or None} if self.judged_by else {}
            yield {"organ": organs[self.organ[row]] or None, **judged}

    def content(self, digits: Mapping[str, int]) -> dict[str, Any]:
        """The columns as the page gets them; names cannot steer what shows them."""
        return {
            "ids": [visible(name) for name in self.ids],
            "systems": [visible(name) for name in self.systems],
            "system": self.system,
            "organs": list(self.organs),
            "organ": self.organ,
            "kinds": [visible(name) for name in self.kinds],
            "kind": self.kind,
            "severities": SEVERITIES,
            "severity": self.severity,
            "metrics": list(self.metrics),
            "values": [
                [None if v is None else float(f"{v:.4g}") for v in self.values.get(name, [])]
                for name in self.metrics
            ],
            "digits": [digits[name] for name in self.metrics],
            "missing": self.missing,
        }


def digits_of(summary: Mapping[str, Any]) -> dict[str, int]:
    return {name: decimals(about["range"][1]) for name, about in summary["metrics"].items()}


def decimals(most: float | None) -> int:
    return 1 if most is not None and most > 10 else 3


class Headline(NamedTuple):
    system: str
    scored: int
    critical: int  # pairs with a critical error
    severities: Mapping[str, int]
    kinds: Mapping[str, int]

    def per_hundred(self, *severities: str) -> float:
        errors = sum(self.severities[name] for name in severities or SEVERITIES)
        return 100 * errors / self.scored if self.scored else 0.0


class SystemMean(NamedTuple):
    system: str
    mean: Estimate
    scored: int
    pairs: int
    bins: Sequence[int]
    quartiles: Sequence[float]


class MetricOverview(NamedTuple):
    name: str
    low: float
    high: float
    higher_is_better: bool
    systems: Sequence[SystemMean]

    @property
    def most(self) -> int:
        return max((max(each.bins, default=0) for each in self.systems), default=0)


def headlines(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[Headline]:
    if columns.judged_by is None:
        return []
    systems = summary["metrics"][columns.judged_by]["systems"]
    lines = []
    for system in best_first(columns, summary):
        totals = systems.get(system, {})
        if (errors := totals.get("report_errors")) is not None:
            rows = columns.of_system(system)
            critical = sum(1 for row in rows if columns.severity[row][0])
            severities = {name: errors["by_severity"][name] for name in SEVERITIES}
            lines.append(
                Headline(system, totals["scored"], critical, severities, errors["by_kind"])
            )
    return lines


def best_first(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[str]:
    metric = main_metric(columns)
    if metric is None:
        return list(columns.systems)
    sign = 1.0 if summary["metrics"][metric]["higher_is_better"] else -1.0

    def place(system: str) -> float:
        values = columns.column(metric)[columns.of_system(system)]
        known = values[~np.isnan(values)]
        return -sign * float(known.mean()) if len(known) else np.inf

    return sorted(columns.systems, key=place)


def metric_overviews(columns: ScoredPairs, summary: Mapping[str, Any]) -> list[MetricOverview]:
    systems = [name for name in best_first(columns, summary) if name]
    ids = np.asarray(columns.ids)
    rows = {name: (own := columns.of_system(name))[ids[own].argsort()] for name in systems}
    values = {name: columns.column(name) for name in summary["metrics"]}
    means = _means(values, rows, ids)
    overviews = []
    for name, about in summary["metrics"].items():
        column, (low, high) = values[name], about["range"]  # the axis: the range, or the values'
        known = column[~np.isnan(column)]
        low = float(known.min(initial=0.0)) if low is None else low
        high = float(known.max(initial=low + 1.0)) if high is None else high
        high = high if high > low else low + 1.0
        shown = []
        for system in systems:
            scores = column[rows[system]]
            known = scores[~np.isnan(scores)]
            bins, _ = np.histogram(known, BINS, (low, high))
            quartiles = np.quantile(known, (0.25, 0.5, 0.75)).tolist() if len(known) else ()
            mean = means[name, system]
            shown.append(
                SystemMean(system, mean, len(known), len(scores), bins.tolist(), quartiles)
            )
        overviews.append(MetricOverview(name, low, high, about["higher_is_better"], shown))
    return overviews


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
    estimates: dict[tuple[str, str], Estimate] = {}
    for group in alike.values():
        keys = [key for key, _, _ in group]
        case, table = group[0][1], np.stack([known for _, _, known in group], axis=1)
        nothing = [None] * len(keys)
        means = mean_estimates(table, case, nothing) if len(case) else [Estimate()] * len(keys)
        estimates |= zip(keys, means, strict=True)
    return estimates


def main_metric(columns: ScoredPairs) -> str | None:
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
