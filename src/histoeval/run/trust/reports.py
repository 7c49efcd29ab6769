"""Trust in many reports: grounding, logic and stability of each, and the verdict on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from histoeval.errors import Problem
from histoeval.io.trust_cases import CaseSource, TrustCase
from histoeval.run.pipeline import Job, Watch, no_progress, run_job
from histoeval.run.results import Verdicts
from histoeval.run.totals import ExactSum, RowCount
from histoeval.run.trust.case import Instruments, Verdict, judge_case
from histoeval.run.trust.rows import TrustFolder, TrustRow
from histoeval.trust.fusion import ROUTES
from histoeval.trust.logic.score import signature_of
from histoeval.trust.policy.policy import DIMENSIONS
from histoeval.version import __version__

Illustrate = Callable[[Verdict], TrustRow]
"""Draws pictures of the evidence of a verdict, and returns its row with their names."""

_SETTINGS = ("histoeval", "reader", "nli", "encoder", "distance", "subject", "foreign", "top")
"""Of the request, what a summary repeats."""


def trust_source(
    source: CaseSource,
    tools: Instruments,
    folder: TrustFolder | None = None,
    *,
    illustrate: Illustrate | None = None,
    overwrite: bool = False,
    watch: Watch = no_progress,
) -> Verdicts:
    """Judge every report of a source; with a folder, a stopped run resumes.

    `illustrate` is called for each verdict before its row is written.
    """
    done = run_job(TrustJob(source, tools, illustrate), folder, overwrite=overwrite, watch=watch)
    return Verdicts(done.summary, done.rows)


class TrustJob(Job[TrustCase, TrustRow]):
    """The three dimensions of each report, its trust, and the verdict."""

    chunk_rows = 1

    def __init__(
        self, source: CaseSource, tools: Instruments, illustrate: Illustrate | None = None
    ) -> None:
        self.source = source
        self.tools = tools
        self.illustrate = illustrate
        self.tally = RowCount()
        self._sums = {name: ExactSum() for name in (*DIMENSIONS, "trust")}
        self._known: Counter[str] = Counter()
        self._routes: Counter[str] = Counter()

    def request(self) -> dict[str, Any]:
        """The input, its columns, and every instrument and setting."""
        tools = self.tools
        encoder, asking, tiling = tools.encoder, tools.asking, tools.tiling
        return {
            "histoeval": __version__,
            **self.source.identity(),
            "pictures": self.illustrate is not None,
            "reader": tools.reader.identity,
            "nli": tools.entailer.identity,
            "logic": signature_of(tools.entailer, tools.top),
            "encoder": encoder.code
            if isinstance(encoder, Problem)
            else getattr(encoder, "identity", None),
            "distance": None if tools.distance is None else tools.distance.identity,
            "subject": None
            if asking is None
            else {"model": asking.subject.identity, **asking.examination.pins()},
            "foreign": tools.foreign.identity,
            "top": str(tools.top),
            "tiles": {"most": tiling.most, "seed": tiling.seed, "mpp": tiling.mpp},
            "policy": {"hash": tools.policy.hash, **tools.policy.model_dump(mode="json")},
        }

    def rows(self) -> Iterator[TrustCase]:
        """The cases of the source."""
        return self.source.rows()

    def is_result(self, found: TrustRow, given: TrustCase) -> bool:
        """Whether id and place are the same."""
        return (found.id, found.row) == (given.id, given.number)

    def work(self, chunk: Sequence[TrustCase]) -> list[TrustRow]:
        """The verdict on each case, its pictures drawn where they are wanted."""
        verdicts = [judge_case(case, self.source.folder, self.tools) for case in chunk]
        if self.illustrate is None:
            return [verdict.row for verdict in verdicts]
        return [self.illustrate(verdict) for verdict in verdicts]

    def add(self, row: TrustRow) -> None:
        """Count a row by its route, and take in the dimensions that are known."""
        self.tally.count([Problem(error.code, error.message) for error in row.errors])
        self._routes[row.route] += 1
        for name, total in self._sums.items():
            if (value := getattr(row, name)) is not None:
                self._known[name] += 1
                total.add(value)

    def summary(self) -> dict[str, Any]:
        """Settings, counts and means; no mean where nothing is known."""
        request = self.request()
        means = {
            name: {
                "known": (known := self._known[name]),
                "missing": self.tally.rows - known,
                "mean": total.value / known if known else None,
            }
            for name, total in self._sums.items()
        }
        return {
            "input": self.source.description(),
            **{name: request[name] for name in (*_SETTINGS, "tiles", "policy")},
            "rows": self.tally.rows,
            "rows_with_errors": self.tally.failed_rows,
            "routes": {route: self._routes[route] for route in ROUTES},
            "means": means,
            "errors": self.tally.errors(),
        }
