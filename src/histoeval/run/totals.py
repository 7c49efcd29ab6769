"""Sums over any number of pairs, exact, in constant memory."""

import math
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

from histoeval.concordance.evidence import Severity
from histoeval.errors import Problem
from histoeval.io.results import MetricResult, ResultRow
from histoeval.metric import Metric


class ExactSum:
    """A sum without rounding (Shewchuk's partial sums), so that order cannot change a mean."""

    def __init__(self) -> None:
        self._partials: list[float] = []

    def add(self, value: float) -> None:
        count = 0
        for partial in self._partials:
            small, large = (value, partial) if abs(value) < abs(partial) else (partial, value)
            value = large + small
            if remainder := small - (value - large):
                self._partials[count] = remainder
                count += 1
        self._partials[count:] = [value]

    @property
    def value(self) -> float:
        return math.fsum(self._partials)


def listed_errors(result: MetricResult) -> list[Mapping[str, Any]] | None:
    """Return the errors in the evidence of a score; None if the metric lists none of this form."""
    errors = result.evidence.get("errors")
    if not isinstance(errors, list | tuple):
        return None
    severities = set(Severity)
    is_typed = all(
        isinstance(error, Mapping)
        and isinstance(error.get("kind"), str)
        and isinstance(error.get("severity"), int)
        and error["severity"] in severities
        for error in errors
    )
    return list(errors) if is_typed else None


class MetricTotals:
    def __init__(self) -> None:
        self.scored = 0
        self._value = ExactSum()
        self._parts: dict[str, ExactSum] = {}
        self._having: Counter[str] = Counter()
        self._counts: list[ExactSum] = []
        self._lists_errors = False
        self._pairs_with_errors = 0
        self._kinds: Counter[str] = Counter()
        self._severities: Counter[int] = Counter()

    def add(self, result: MetricResult) -> None:
        self.scored += 1
        self._value.add(result.value)
        for name, number in result.parts.items():
            self._parts.setdefault(name, ExactSum()).add(number)
        self._having.update(result.parts.keys())
        if (errors := listed_errors(result)) is not None:
            self._lists_errors = True
            self._pairs_with_errors += bool(errors)
            self._kinds.update(error["kind"] for error in errors)
            self._severities.update(error["severity"] for error in errors)
        for position, count in enumerate(result.counts):
            if position == len(self._counts):
                self._counts.append(ExactSum())
            self._counts[position].add(count)

    def summary(self, metric: Metric, pairs: int) -> dict[str, Any]:
        """Mean, corpus value, coverage and errors; no number where nothing was scored.

        A part is averaged over the pairs that have it, and `parts_scored` says how many those are.
        """
        mean = self._value.value / self.scored if self.scored else None
        counts = [count.value for count in self._counts]
        summary: dict[str, Any] = {
            "pairs": pairs,
            "scored": self.scored,
            "coverage": self.scored / pairs if pairs else 0.0,
            "mean": mean,
            "corpus": None if mean is None else metric.corpus_value(mean, counts),
            "parts": {name: part.value / self._having[name] for name, part in self._parts.items()},
            "parts_scored": dict(self._having),
        }
        if self._lists_errors:
            severities = sorted(Severity, reverse=True)
            kinds = sorted(self._kinds.items(), key=lambda item: (-item[1], item[0]))
            summary["report_errors"] = {
                "count": self._kinds.total(),
                "pairs": self._pairs_with_errors,
                "by_severity": {
                    severity.name.lower(): self._severities[severity] for severity in severities
                },
                "by_kind": dict(kinds),
            }
        return summary


class RowCount:
    def __init__(self) -> None:
        self.rows = 0
        self.failed_rows = 0
        self.problems: Counter[str] = Counter()
        self.examples: dict[str, str] = {}

    def count(self, errors: Collection[Problem]) -> None:
        self.rows += 1
        self.failed_rows += bool(errors)
        self.problems.update({problem.code for problem in errors})
        for problem in errors:
            self.examples.setdefault(problem.code, problem.message)

    def errors(self) -> dict[str, Any]:
        """Map each code to the number of its rows, and an example."""
        return {
            code: {"count": count, "example": self.examples[code]}
            for code, count in sorted(self.problems.items())
        }


# Problems of rows that a system has beside its reports on the cases of a truth.
OUTSIDE = frozenset({"unknown_id", "repeated_report", "unusable_row"})


class Totals(RowCount):
    """Everything the summary needs of the rows.

    A row too broken to say whose it is counts against every system: for each it is a pair that
    has no score, and coverage must not hide it. A row that is no report on a case of the truth is
    counted as an error, and is no pair.
    """

    def __init__(self, metrics: list[Metric]) -> None:
        super().__init__()
        self.scores = 0
        self._metrics = metrics
        self._pairs: Counter[str] = Counter()
        self._nobodys_rows = 0
        self._failed: Counter[str] = Counter()
        self._failure: dict[str, str] = {}
        self._totals: dict[tuple[str, str], MetricTotals] = {}

    def add(self, row: ResultRow) -> None:
        self.count(row.errors)
        for problem in row.errors:
            if problem.metric is not None:
                self._failed[problem.metric] += 1
                is_own = problem.code == "metric_failed"  # others may quote what a server said
                self._failure.setdefault(
                    problem.metric, problem.message if is_own else problem.code
                )
        if row.system is None:
            self._nobodys_rows += 1
            return
        self._pairs[row.system] += not any(problem.code in OUTSIDE for problem in row.errors)
        self.scores += len(row.scores)
        for name, result in row.scores.items():
            self._totals.setdefault((row.system, name), MetricTotals()).add(result)

    def by_metric(self) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        for metric in self._metrics:
            name = metric.name
            entry = metrics[name] = {
                "signature": str(metric.signature),
                "higher_is_better": metric.higher_is_better,
                "range": [bound if math.isfinite(bound) else None for bound in metric.range],
            }
            if count := self._failed[name]:
                entry["failed"] = {"count": count, "example": self._failure[name]}
            entry["systems"] = {
                system: self._totals.get((system, name), MetricTotals()).summary(
                    metric, pairs + self._nobodys_rows
                )
                for system, pairs in self._pairs.items()
            }
        return metrics
