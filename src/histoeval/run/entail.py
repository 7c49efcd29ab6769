"""Entailment of pairs of premise and hypothesis by an NLI model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import Problem
from histoeval.io.pairs import Columns, PairRow, PairSource, open_source
from histoeval.io.results import broken_row
from histoeval.io.store import RowStore
from histoeval.io.tables.row_faults import shown
from histoeval.nli.entailer import Entailer, Entailment, NliPair
from histoeval.report import Noun
from histoeval.run.pipeline import Job, Watch, answers, no_progress, run_job
from histoeval.run.totals import RowCount
from histoeval.version import __version__

COLUMNS = Columns(reference="premise", candidates=("hypothesis",))


class EntailedRow(Noun):
    """One pair with the three probabilities, or the reasons why it has none; never both.

    `row` is the row of the input, counted from 1, where something is wrong with it.
    """

    id: str
    entailment: float | None = None
    neutral: float | None = None
    contradiction: float | None = None
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        """The row as one line of JSON."""
        if self.errors:
            content = broken_row(self.id, self.row, self.errors)
        else:
            content = self.model_dump(exclude={"row", "errors"})
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


def open_pairs(path: Path, encoding: str | None = None) -> PairSource:
    """A table with the columns premise and hypothesis, and mostly id."""
    return open_source([path], COLUMNS, encoding)


def entail(
    source: PairSource,
    model: Entailer,
    output: Path,
    *,
    overwrite: bool = False,
    batch_size: int = 256,
    watch: Watch = no_progress,
) -> dict[str, Any]:
    """Judge every pair of a source and write a row for each; the summary of all rows."""
    store = RowStore(output, EntailedRow.model_validate_json)
    job = EntailJob(source, model, batch_size)
    return run_job(job, store, overwrite=overwrite, watch=watch).summary


class EntailJob(Job[PairRow, EntailedRow]):
    """An NLI model on every pair."""

    def __init__(self, source: PairSource, model: Entailer, batch_size: int) -> None:
        self.source = source
        self.model = model
        self.chunk_rows = batch_size
        self.tally = RowCount()
        self.labels: Counter[str] = Counter()

    def request(self) -> dict[str, Any]:
        """The input and the model."""
        origin = self.source.identity()
        del origin["columns"]
        return {"histoeval": __version__, **origin, "model": self.model.identity}

    def rows(self) -> Iterator[PairRow]:
        """The pairs of the source."""
        return self.source.rows()

    def characters(self, given: PairRow) -> int:
        """The length of both sentences."""
        return 0 if given.pair is None else len(given.pair.reference) + len(given.pair.candidate)

    def is_result(self, found: EntailedRow, given: PairRow) -> bool:
        """Whether the id is the same."""
        return found.id == given.id

    def work(self, chunk: Sequence[PairRow]) -> list[EntailedRow]:
        """The probabilities for each pair of a chunk."""
        pairs = [
            NliPair(row.pair.reference, row.pair.candidate) for row in chunk if row.pair is not None
        ]
        judged = iter(answers(self.model.judge, pairs, _failed))
        return [_row(row, row.problems if row.pair is None else next(judged)) for row in chunk]

    def add(self, row: EntailedRow) -> None:
        """Count the label of a row."""
        self.tally.count(row.errors)
        if not row.errors:
            found = Entailment(row.entailment or 0, row.neutral or 0, row.contradiction or 0)
            self.labels[found.label] += 1

    def summary(self) -> dict[str, Any]:
        """How many pairs have each label, and all errors."""
        return {
            "input": self.source.description(),
            "model": self.model.identity,
            "rows": self.tally.rows,
            "rows_with_errors": self.tally.failed_rows,
            "labels": dict(sorted(self.labels.items())),
            "errors": self.tally.errors(),
        }


def _failed(message: str) -> Problem:
    return Problem(code="model_failed", message=shown(message))


def _row(row: PairRow, outcome: Entailment | Problem | tuple[Problem, ...]) -> EntailedRow:
    if isinstance(outcome, Entailment):
        return EntailedRow(id=row.id, **outcome._asdict())
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return EntailedRow(id=row.id, row=row.number, errors=errors)
