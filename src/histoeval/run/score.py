"""Scoring on this machine: chunk by chunk, nothing finished is lost, nothing failed is hidden."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

from histoeval.errors import OutputError, Problem, SettingError
from histoeval.io.pairs import PairRow, PairSource
from histoeval.io.results import MetricResult, ResultFolder, ResultRow, write_rows
from histoeval.metric import Metric, Score
from histoeval.report import Pair
from histoeval.run.pipeline import Watch, answers, chunks, nobody_watches, tell
from histoeval.run.prefetch import Prefetch
from histoeval.run.totals import Totals
from histoeval.version import __version__

CHUNK_CHARACTERS = 4_000_000
"""A chunk is closed early when its texts grow past this, so that memory stays flat."""

LIBRARIES = (
    "numpy sacrebleu rouge-score nltk rapidfuzz onnxruntime tokenizers torch transformers".split()
)

Hear = Callable[[ResultRow], None]


def run(
    source: PairSource,
    metrics: Sequence[Metric],
    *,
    folder: ResultFolder | None = None,
    overwrite: bool = False,
    batch_size: int = 256,
    hear: Hear | None = None,
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Score every pair of a source with every metric and return the summary.

    With a folder, rows are written as they are scored and a stopped run is continued. `hear` is
    given every row, those found in the folder included; `watch` is told how far it has come.
    """
    obstacles = {m.name: reason for m in metrics if (reason := m.unavailable_reason()) is not None}
    if len(obstacles) == len(metrics):
        raise SettingError("\n".join(f"{name} {reason}" for name, reason in obstacles.items()))
    totals = Totals(list(metrics))
    listeners = [totals.add] if hear is None else [totals.add, hear]
    if folder is not None:
        folder.prepare(_request(source, metrics), overwrite=overwrite)
    rows_left = source.rows()
    if folder is not None:
        tell(_found_again(folder, rows_left), listeners)
    coming = chunks(rows_left, batch_size, CHUNK_CHARACTERS, _characters)
    foresight = Prefetch([metric for metric in metrics if metric.name not in obstacles])
    with foresight, nullcontext() if folder is None else folder.append() as file:
        for chunk in foresight.of(coming):
            rows = _score_chunk(chunk, metrics, obstacles)
            if file is not None:
                write_rows(file, rows)
            tell(rows, listeners)
            watch(totals.rows, totals.failed_rows, chunk[-1].position)
    summary = _summary(source, totals, obstacles)
    if folder is not None:
        folder.finish(summary)
    return summary


def _found_again(folder: ResultFolder, rows: Iterator[PairRow]) -> Iterator[ResultRow]:
    """The rows that a stopped run has left, each of them held against the input it came from."""
    for found in folder.finished():
        row = next(rows, None)
        if row is None or (found.id, found.system, found.row) != (row.id, row.system, row.number):
            raise OutputError(
                f"row {found.row} ({found.id}) of {folder.scores} is not what the input has there; "
                "give another --output, or --overwrite to replace the results"
            )
        yield found


def _characters(row: PairRow) -> int:
    return 0 if row.pair is None else len(row.pair.reference) + len(row.pair.candidate)


def _score_chunk(
    chunk: Sequence[PairRow], metrics: Sequence[Metric], obstacles: dict[str, str]
) -> list[ResultRow]:
    pairs = [row.pair for row in chunk if row.pair is not None]
    told = {
        metric.name: iter(
            [_unavailable(metric.name)] * len(pairs)
            if metric.name in obstacles
            else _ask(metric, pairs)
        )
        for metric in metrics
    }
    return [_result(row, told) for row in chunk]


def _unavailable(name: str) -> Problem:
    message = f"{name} cannot run on this machine; summary.json and `histoeval metrics` say why"
    return Problem(code="metric_unavailable", metric=name, message=message)


def _ask(metric: Metric, pairs: Sequence[Pair]) -> list[Score | Problem]:
    """The answers of a metric, and the failure of each pair that it breaks on."""

    def failed(message: str) -> Problem:
        """What stands in place of a score where the metric broke."""
        return Problem(code="metric_failed", metric=metric.name, message=message)

    return answers(lambda few: _one_each(metric.score(few), few), pairs, failed)


def _one_each(said: list[Score | Problem], pairs: Sequence[Pair]) -> list[Score | Problem]:
    """The answers of a metric that keeps its promise: a score or a problem for each pair."""
    if len(said) != len(pairs):
        raise ValueError(f"{len(said)} answers for {len(pairs)} pairs")
    for answer in said:
        if not isinstance(answer, Score | Problem):
            raise TypeError(f"{type(answer).__name__} where a score or a problem was expected")
    return said


def _result(row: PairRow, told: dict[str, Iterator[Score | Problem]]) -> ResultRow:
    if row.pair is None:
        return ResultRow(id=row.id, system=row.system, row=row.number, errors=row.problems)
    found = {name: next(answer) for name, answer in told.items()}
    return ResultRow(
        id=row.id,
        system=row.pair.system,
        row=row.number,
        scores={n: MetricResult.of(a) for n, a in found.items() if isinstance(a, Score)},
        errors=tuple(answer for answer in found.values() if isinstance(answer, Problem)),
    )


def _request(source: PairSource, metrics: Sequence[Metric]) -> dict[str, Any]:
    """What makes two runs the same: the input and everything the numbers depend on."""
    return {
        "histoeval": __version__,
        "input": source.name,
        "sha256": source.sha256,
        "encoding": source.encoding,
        "columns": source.layout.model_dump(mode="json"),
        "metrics": {metric.name: str(metric.signature) for metric in metrics},
    }


def _summary(source: PairSource, totals: Totals, obstacles: dict[str, str]) -> dict[str, Any]:
    return {
        "histoeval": __version__,
        "input": source.description(),
        "rows": totals.rows,
        "rows_with_errors": totals.failed_rows,
        "scores": totals.scores,
        "metrics": totals.by_metric(),
        "unavailable": obstacles,
        "errors": totals.errors(),
        "versions": {"python": python_version(), **_library_versions()},
    }


def _library_versions() -> dict[str, str]:
    found = {}
    for library in LIBRARIES:
        try:
            found[library] = version(library)
        except PackageNotFoundError:
            continue
    return found
