"""The pairs of a run as columns, gathered in one pass: what tables, charts and filters need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from histoeval.concordance.evidence import Severity
from histoeval.console import visible
from histoeval.facts.sampled import heading_sites
from histoeval.statistics.resampling import Numbers, Positions
from histoeval.terms.sites import find_sites, organ_of, sites

SEVERITIES = tuple(severity.name.lower() for severity in sorted(Severity, reverse=True))
"""The worst first."""

PREFERRED = "concordance"
"""Where several metrics list errors, this one's are shown."""

_OPENING = 400
"""Characters of a reference in which its organ is looked for, if its heading names none."""


def error_metric(summary: Mapping[str, Any]) -> str | None:
    """The metric whose errors are shown, and that marks the texts; None where none lists any."""
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
    found = heading_sites(reference) or find_sites(reference[:_OPENING])
    return sites()[organ_of(found[0].id)].name if found else ""


class Names:
    """Names in the order of their first appearance, each with a number."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def number(self, name: str) -> int:
        """The number of a name, new or known."""
        return self._known.setdefault(name, len(self._known))

    def __iter__(self) -> Any:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


@dataclass
class ScoredPairs:
    """One entry of every column for each pair, in the order of the run."""

    metrics: Sequence[str]
    judged_by: str | None
    """The metric whose errors are counted."""
    ids: list[str] = field(default_factory=list)
    systems: Names = field(default_factory=Names)
    system: list[int] = field(default_factory=list)
    organs: Names = field(default_factory=Names)
    organ: list[int] = field(default_factory=list)
    kinds: Names = field(default_factory=Names)
    kind: list[list[int]] = field(default_factory=list)
    severity: list[list[int]] = field(default_factory=list)
    """How many errors of each severity, the worst first."""
    values: dict[str, list[float | None]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Why scores are missing, by the codes of the problems."""

    def add(self, row: Mapping[str, Any], reference: str | None) -> None:
        """Take one row of results in."""
        self.ids.append(row["id"])
        self.system.append(self.systems.number(row["system"] or ""))
        self.organ.append(self.organs.number(organ(reference)))
        scores = row["scores"]
        for name in self.metrics:
            value = scores[name]["value"] if name in scores else None
            self.values.setdefault(name, []).append(value)
        errors = self._errors(scores)
        self.kind.append(sorted({self.kinds.number(error["kind"]) for error in errors}))
        counts = [0] * len(SEVERITIES)
        for error in errors:
            counts[-error["severity"]] += 1
        self.severity.append(counts)
        self.missing.append(", ".join(dict.fromkeys(each["code"] for each in row["errors"])))

    def _errors(self, scores: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        found = scores.get(self.judged_by or "", {}).get("evidence", {}).get("errors", ())
        return [error for error in found if isinstance(error, Mapping)]

    def __len__(self) -> int:
        return len(self.ids)

    def of_system(self, name: str) -> Positions:
        """Where the pairs of a system are."""
        return np.flatnonzero(np.asarray(self.system) == self.systems.number(name))

    def column(self, metric: str) -> Numbers:
        """The values of a metric, NaN where there is none."""
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
            "values": [[_short(each) for each in self.values.get(m, [])] for m in self.metrics],
            "digits": [digits[name] for name in self.metrics],
            "missing": self.missing,
        }


def digits_of(summary: Mapping[str, Any]) -> dict[str, int]:
    """Decimals of each metric, wherever it is shown."""
    return {name: decimals(about["range"][1]) for name, about in summary["metrics"].items()}


def decimals(most: float | None) -> int:
    """Three, or one on a scale that runs to 100."""
    return 1 if most is not None and most > 10 else 3


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")
