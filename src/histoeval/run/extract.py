"""Reading reports on this machine: chunk by chunk, nothing finished is lost, no failure hidden."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

from histoeval.errors import OutputError, Problem
from histoeval.extract.reader import Reader
from histoeval.io.jsonl_rows import ExtractedFile, ReadRow, write_lines
from histoeval.io.reports import TextRow, TextSource
from histoeval.io.tables.row_faults import shown
from histoeval.report import EntityType, Report
from histoeval.run.pipeline import Watch, answers, chunks, nobody_watches, tell
from histoeval.run.totals import RowCount
from histoeval.version import __version__

CHUNK_CHARACTERS = 1_000_000
"""A chunk is closed early when its texts grow past this, so that memory stays flat."""

Hear = Callable[[ReadRow], None]


def _nobody_hears(row: ReadRow) -> None:
    pass


class Extraction(NamedTuple):
    """What a run comes to: the summary of all rows, and how fast those went that were not there."""

    summary: dict[str, Any]
    rows_read: int
    seconds: float


class _Tally(RowCount):
    """What was found, in numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.entities: Counter[str] = Counter()
        self.relations: Counter[str] = Counter()

    def add(self, row: ReadRow) -> None:
        """Take one row in."""
        self.count(row.errors)
        if row.report is not None:
            self.entities.update(str(entity.type) for entity in row.report.entities)
            kinds = map(row.report.relation_type, row.report.relations)
            self.relations.update("-".join(kind) for kind in kinds)


def extract(
    source: TextSource,
    reader: Reader,
    *,
    file: ExtractedFile | None = None,
    overwrite: bool = False,
    batch_size: int = 256,
    hear: Hear = _nobody_hears,
    watch: Watch = nobody_watches,
) -> Extraction:
    """Read every text of a source and say what was found.

    With a file, rows are written as they are read and a stopped run is continued. `hear` is given
    every row, those found in the file included; `watch` is told how far it has come.
    """
    tally = _Tally()
    request = _request(source, reader)
    rows_left = source.rows()
    if file is not None:
        file.prepare(request, overwrite=overwrite)
        tell(_found_again(file, rows_left), (tally.add, hear))
    found, started = tally.rows, perf_counter()
    with nullcontext() if file is None else file.append() as lines:
        for chunk in chunks(rows_left, batch_size, CHUNK_CHARACTERS, _characters):
            rows = _read_chunk(chunk, reader)
            if lines is not None:
                write_lines(lines, rows)
            tell(rows, (tally.add, hear))
            watch(tally.rows, tally.failed_rows, chunk[-1].position)
    summary = _summary(source, request, tally)
    if file is not None:
        file.finish(summary)
    return Extraction(summary, tally.rows - found, perf_counter() - started)


def output_file(output: Path, given: object) -> ExtractedFile:
    """The file to write to, which must not be the one that is read."""
    file = ExtractedFile(output)
    if isinstance(given, str | Path) and output.exists() and output.samefile(given):
        raise OutputError(f"{output} is the input itself; give another --output")
    return file


def first_rows(source: TextSource, reader: Reader, most: int) -> list[ReadRow]:
    """The first few rows, with what the reader finds in them; the others are not read."""
    return _read_chunk(list(islice(source.rows(), most)), reader)


def _found_again(file: ExtractedFile, rows: Iterator[TextRow]) -> Iterator[ReadRow]:
    """The rows that a stopped run has left, each of them held against the input it came from."""
    for found in file.finished():
        row = next(rows, None)
        text = None if found.report is None else found.report.text
        if row is None or row.id != found.id or (text is not None and text != row.text):
            raise OutputError(
                f"the row {found.id} of {file.path} is not what the input has there; "
                "give another --output, or --overwrite to replace the rows"
            )
        yield found


def _characters(row: TextRow) -> int:
    return len(row.text or "")


def _read_chunk(chunk: Sequence[TextRow], reader: Reader) -> list[ReadRow]:
    texts = [row.text for row in chunk if row.text is not None]
    read = iter(answers(lambda few: _one_each(reader.read(few), few), texts, _failed))
    return [_row(row, row.problems if row.text is None else next(read)) for row in chunk]


def _one_each(reports: Sequence[Report], texts: Sequence[str]) -> Sequence[Report]:
    """The reports of a reader that keeps its promise: one for each text, of that very text."""
    if len(reports) != len(texts):
        raise ValueError(f"{len(reports)} reports for {len(texts)} texts")
    for report, text in zip(reports, texts, strict=True):
        if not isinstance(report, Report) or report.text != text:
            raise ValueError("what came back is not a report of the text")
    return reports


def _failed(message: str) -> Problem:
    return Problem(code="reader_failed", message=shown(message))


def _row(row: TextRow, outcome: Report | Problem | tuple[Problem, ...]) -> ReadRow:
    if isinstance(outcome, Report):
        return ReadRow(id=row.id, report=outcome)
    errors = (outcome,) if isinstance(outcome, Problem) else outcome
    return ReadRow(id=row.id, row=row.number, errors=errors)


def _request(source: TextSource, reader: Reader) -> dict[str, Any]:
    """What makes two runs the same: the input and everything that is found depends on."""
    return {
        "histoeval": __version__,
        "input": source.name,
        "sha256": source.sha256,
        "encoding": source.encoding,
        "columns": source.layout.model_dump(mode="json"),
        "reader": reader.identity,
        "dtype": getattr(reader, "dtype", None),
    }


def _summary(source: TextSource, request: Mapping[str, Any], tally: _Tally) -> dict[str, Any]:
    return {
        "input": source.description(),
        "reader": request["reader"],
        "rows": tally.rows,
        "rows_with_errors": tally.failed_rows,
        "entities": {str(kind): n for kind in EntityType if (n := tally.entities[kind])},
        "relations": dict(sorted(tally.relations.items())),
        "errors": tally.errors(),
    }
