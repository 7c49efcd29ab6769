"""Scoring pairs with metrics: every metric on every pair, and no failure of one costs another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

from histoeval.errors import Problem, SettingError
from histoeval.io.pairs import PairRow, PairSource
from histoeval.io.results import MetricResult, ResultFolder, ResultRow
from histoeval.metric import Metric, Score
from histoeval.report import Pair
from histoeval.run.pipeline import Job, Watch, answers, no_progress, run_job
from histoeval.run.prefetch import Prefetch
from histoeval.run.results import Scores
from histoeval.run.totals import Totals
from histoeval.version import __version__

LIBRARIES = (
    "numpy sacrebleu rouge-score nltk rapidfuzz onnxruntime tokenizers torch transformers".split()
)


def score_source(
    source: PairSource,
    metrics: Sequence[Metric],
    store: ResultFolder | None = None,
    *,
    overwrite: bool = False,
    batch_size: int = 256,
    watch: Watch = no_progress,
) -> Scores:
    """Score every pair of a source with every metric; with a store, a stopped run resumes."""
    job = ScoreJob(source, metrics, batch_size)
    done = run_job(job, store, overwrite=overwrite, watch=watch)
    return Scores(done.summary, done.rows)


class ScoreJob(Job[PairRow, ResultRow]):
    """Every metric on every pair; metrics that cannot run here are problems of each pair."""

    chunk_characters = 4_000_000
    tally: Totals

    def __init__(self, source: PairSource, metrics: Sequence[Metric], batch_size: int) -> None:
        reasons = {metric.name: metric.unavailable_reason() for metric in metrics}
        self.unavailable = {name: reason for name, reason in reasons.items() if reason is not None}
        if len(self.unavailable) == len(metrics):
            raise SettingError("\n".join(f"{name} {why}" for name, why in self.unavailable.items()))
        self.source = source
        self.metrics = metrics
        self.chunk_rows = batch_size
        self.tally = Totals(list(metrics))

    def request(self) -> dict[str, Any]:
        """The input, its columns, and the signatures of the metrics."""
        return {
            "histoeval": __version__,
            **self.source.identity(),
            "metrics": {metric.name: str(metric.signature) for metric in self.metrics},
        }

    def rows(self) -> Iterator[PairRow]:
        """The pairs of the source."""
        return self.source.rows()

    def characters(self, given: PairRow) -> int:
        """The length of both texts."""
        return 0 if given.pair is None else len(given.pair.reference) + len(given.pair.candidate)

    def is_result(self, found: ResultRow, given: PairRow) -> bool:
        """Whether id, system and place are the same."""
        return (found.id, found.system, found.row) == (given.id, given.system, given.number)

    @contextmanager
    def prefetched(self, chunks: Iterator[list[PairRow]]) -> Iterator[Iterable[list[PairRow]]]:
        """Metrics that wait for a service begin with pairs before their turn."""
        runnable = [metric for metric in self.metrics if metric.name not in self.unavailable]
        with Prefetch(runnable) as ahead:
            yield ahead.of(chunks)

    def work(self, chunk: Sequence[PairRow]) -> list[ResultRow]:
        """Every metric on the pairs of a chunk."""
        pairs = [row.pair for row in chunk if row.pair is not None]
        columns = {metric.name: iter(self._ask(metric, pairs)) for metric in self.metrics}
        return [_result(row, columns) for row in chunk]

    def _ask(self, metric: Metric, pairs: Sequence[Pair]) -> list[Score | Problem]:
        """The scores of a metric, and a problem for each pair that it breaks on."""
        name = metric.name
        if name in self.unavailable:
            why = f"{name} cannot run on this machine; summary.json and `histoeval metrics` say why"
            return [Problem(code="metric_unavailable", metric=name, message=why)] * len(pairs)
        return answers(
            lambda few: _one_each(metric.score(few), few),
            pairs,
            lambda message: Problem(code="metric_failed", metric=name, message=message),
        )

    def add(self, row: ResultRow) -> None:
        """Take the scores of a row into the totals."""
        self.tally.add(row)

    def summary(self) -> dict[str, Any]:
        """Means, corpus values and coverage of each metric and system, and all errors."""
        return {
            "histoeval": __version__,
            "input": self.source.description(),
            "rows": self.tally.rows,
            "rows_with_errors": self.tally.failed_rows,
            "scores": self.tally.scores,
            "metrics": self.tally.by_metric(),
            "unavailable": self.unavailable,
            "errors": self.tally.errors(),
            "versions": {"python": python_version(), **_library_versions()},
        }


def _one_each(scores: list[Score | Problem], pairs: Sequence[Pair]) -> list[Score | Problem]:
    """The scores of a metric that keeps its promise: a score or a problem for each pair."""
    if len(scores) != len(pairs):
        raise ValueError(f"{len(scores)} answers for {len(pairs)} pairs")
    for score in scores:
        if not isinstance(score, Score | Problem):
            raise TypeError(f"{type(score).__name__} where a score or a problem was expected")
    return scores


def _result(row: PairRow, columns: dict[str, Iterator[Score | Problem]]) -> ResultRow:
    if row.pair is None:
        return ResultRow(id=row.id, system=row.system, row=row.number, errors=row.problems)
    found = {name: next(column) for name, column in columns.items()}
    return ResultRow(
        id=row.id,
        system=row.pair.system,
        row=row.number,
        scores={n: MetricResult.of(a) for n, a in found.items() if isinstance(a, Score)},
        errors=tuple(answer for answer in found.values() if isinstance(answer, Problem)),
    )


def _library_versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
