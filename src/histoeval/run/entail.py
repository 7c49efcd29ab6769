"""Judging pairs of premise and hypothesis on this machine; a stopped run goes on where it was."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import OutputError, Problem
from histoeval.io.jsonl_rows import RowFile, write_lines
from histoeval.io.pairs import Columns, PairRow, PairSource, open_source
from histoeval.io.tables.row_faults import shown
from histoeval.nli.entailer import Entailer, Entailment, NliPair
from histoeval.report import Noun
from histoeval.run.pipeline import Watch, answers, chunks, nobody_watches
from histoeval.run.totals import RowCount
from histoeval.version import __version__

COLUMNS = Columns(reference="premise", candidates=("hypothesis",))
CHUNK_CHARACTERS = 1_000_000
"""A chunk is closed early when its texts grow past this, so that memory stays flat."""


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
            errors = [
                {"code": e.code, "message": e.message, "column": e.column} for e in self.errors
            ]
            content: dict[str, Any] = {"id": self.id, "row": self.row, "errors": errors}
        else:
            content = self.model_dump(exclude={"row", "errors"})
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


class _Tally(RowCount):
    """How many rows there are, and how many of each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: Counter[str] = Counter()

    def add(self, row: EntailedRow) -> None:
        """Take one row in."""
        self.count(row.errors)
        if not row.errors:
            found = Entailment(row.entailment or 0, row.neutral or 0, row.contradiction or 0)
            self.labels[found.label] += 1


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
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Judge every pair of a source and write a row for each; the summary of all rows."""
    file = RowFile(output, EntailedRow.model_validate_json)
    tally, rows_left = _Tally(), source.rows()
    file.prepare(_request(source, model), overwrite=overwrite)
    for row in _found_again(file, rows_left):
        tally.add(row)
    with file.append() as lines:
        for chunk in chunks(rows_left, batch_size, CHUNK_CHARACTERS, _characters):
            rows = _judge_chunk(chunk, model)
            write_lines(lines, rows)
            for row in rows:
                tally.add(row)
            watch(tally.rows, tally.failed_rows, chunk[-1].position)
    summary = _summary(source, model, tally)
    file.finish(summary)
    return summary


def _found_again(file: RowFile[EntailedRow], rows: Iterator[PairRow]) -> Iterator[EntailedRow]:
    """The rows that a stopped run has left, held against the input by their ids."""
    for found in file.finished():
        row = next(rows, None)
        if row is None or row.id != found.id:
            raise OutputError(
                f"the row {found.id} of {file.path} is not what the input has there; "
                "give another --output, or --overwrite to replace the rows"
            )
        yield found


def _characters(row: PairRow) -> int:
    return 0 if row.pair is None else len(row.pair.reference) + len(row.pair.candidate)


def _judge_chunk(chunk: Sequence[PairRow], model: Entailer) -> list[EntailedRow]:
    pairs = [
        NliPair(row.pair.reference, row.pair.candidate) for row in chunk if row.pair is not None
    ]
    judged = iter(answers(model.judge, pairs, _failed))
    return [_row(row, row.problems if row.pair is None else next(judged)) for row in chunk]


def _failed(message: str) -> Problem:
    return Problem(code="model_failed", message=shown(message))


def _row(row: PairRow, outcome: Entailment | Problem | tuple[Problem, ...]) -> EntailedRow:
    if isinstance(outcome, Entailment):
        return EntailedRow(id=row.id, **outcome._asdict())
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return EntailedRow(id=row.id, row=row.number, errors=errors)


def _request(source: PairSource, model: Entailer) -> dict[str, Any]:
    """What makes two runs the same: the input and everything that the numbers depend on."""
    return {
        "histoeval": __version__,
        "input": source.name,
        "sha256": source.sha256,
        "encoding": source.encoding,
        "model": model.identity,
    }


def _summary(source: PairSource, model: Entailer, tally: _Tally) -> dict[str, Any]:
    return {
        "input": source.description(),
        "model": model.identity,
        "rows": tally.rows,
        "rows_with_errors": tally.failed_rows,
        "labels": dict(sorted(tally.labels.items())),
        "errors": tally.errors(),
    }
