"""A perturbed set from a table of true reports; a stopped run goes on where it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, OutputError, Problem
from histoeval.experiments.edits.llm_edit import Rewritten, rewrite, rewritten_groups
from histoeval.experiments.edits.registry import (
    CONTROL,
    EditedReport,
    SkippedEdit,
    groups,
    perturb,
    rules_hash,
)
from histoeval.experiments.rows import MODEL, RULES, PerturbedRow
from histoeval.extract.reader import Reader
from histoeval.io.jsonl_rows import RowFile, write_lines
from histoeval.io.reports import TextRow, TextSource
from histoeval.io.results import files_of
from histoeval.io.tables.row_faults import shown
from histoeval.report import Noun
from histoeval.run.pipeline import Watch, answers, chunks, nobody_watches
from histoeval.run.totals import RowCount
from histoeval.version import __version__
from histoeval.vlm.model import Vlm

IMAGE, PATIENT = "image", "patient"
"""Columns that are taken along where a table has them."""
CHUNK_CHARACTERS = 200_000


class Settings(Noun):
    """What is made of every report."""

    seed: int = 0
    each: int | None = 1
    """Edits of every group by rule; all that can be made where it is None."""
    groups: tuple[str, ...] | None = None
    answers: bool = False
    """Whether the true report stands in for what the model says under stain and attack."""


class _Tally(RowCount):
    """Rows by group and edit, and what could not be made."""

    def __init__(self) -> None:
        super().__init__()
        self.cases = 0
        self.made: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()
        self.not_made: Counter[tuple[str, str]] = Counter()

    def add(self, row: PerturbedRow) -> None:
        """Take one row in."""
        if row.errors or row.edit == CONTROL:
            self.count(row.errors)
        if not row.errors:
            self.cases += row.edit == CONTROL
            self.made[row.edit] += 1
            self.groups[row.group] += 1
            self.not_made.update(row.not_made.items())


def perturb_file(
    source: TextSource,
    reader: Reader,
    output: Path,
    settings: Settings,
    *,
    subject: Vlm | None = None,
    overwrite: bool = False,
    batch_size: int = 32,
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Write the perturbed set of a table with id, report and maybe image; its summary."""
    _demand_groups(settings)
    along = _along(source)
    file = RowFile(output, PerturbedRow.model_validate_json)
    file.prepare(_request(source, reader, settings, subject), overwrite=overwrite)
    kept = _kept(file)
    left = _after(kept, source, file.path)
    tally = _Tally()
    for row in kept:
        tally.add(row)
    with file.append() as lines:
        for chunk in chunks(left, batch_size, CHUNK_CHARACTERS, lambda row: len(row.text or "")):
            for rows in _chunk_rows(chunk, reader, settings, subject, along):
                write_lines(lines, rows)
                for row in rows:
                    tally.add(row)
            watch(tally.rows, tally.failed_rows, chunk[-1].position)
    summary = _summary(source, tally)
    file.finish(summary)
    return summary


def _demand_groups(settings: Settings) -> None:
    unknown = set(settings.groups or ()) - set(groups())
    if unknown:
        raise InputError(f"there is no group {min(unknown)!r}; known: {', '.join(groups())}")


def _along(source: TextSource) -> dict[int, dict[str, str]]:
    """Image and patient of each row, by its number, where the table has them."""
    columns = [name for name in (IMAGE, PATIENT) if name in source.table.columns]
    if not columns:
        return {}
    return {
        record.number: {
            name: str(record.values[name]) for name in columns if record.values.get(name)
        }
        for record in source.table.read(columns)
        if record.values is not None
    }


def _kept(file: RowFile[PerturbedRow]) -> list[PerturbedRow]:
    """What a stopped run has left, less the last report, of which there may be more to come."""
    done = list(file.finished())
    last = done[-1].case if done else ""
    kept = [row for row in done if row.errors or row.case != last]
    if len(kept) < len(done):
        with files_of(file.path):
            file.path.write_bytes(b"".join(row.line() for row in kept))
    return kept


def _after(kept: Sequence[PerturbedRow], source: TextSource, path: Path) -> Iterator[TextRow]:
    """The rows of the input that are still to do."""
    rows = source.rows()
    for case in dict.fromkeys(row.case or row.id for row in kept):
        row = next(rows, None)
        if row is None or row.id != case:
            raise OutputError(
                f"the row {case} of {path} is not what the input has there; "
                "give another --output, or --overwrite to replace the rows"
            )
    return rows


def _chunk_rows(
    chunk: Sequence[TextRow],
    reader: Reader,
    settings: Settings,
    subject: Vlm | None,
    along: Mapping[int, Mapping[str, str]],
) -> Iterator[list[PerturbedRow]]:
    """Everything that is made of each report."""
    texts = [row.text for row in chunk if row.text is not None]
    read = iter(answers(reader.read, texts, _failed))
    chosen = [g for g in rewritten_groups() if g in (settings.groups or groups())]
    nothing: list[Rewritten] = [([], [])] * len(texts)
    written = iter(nothing if subject is None else rewrite(subject, texts, chosen))
    for row in chunk:
        if row.text is None:
            yield [PerturbedRow(id=row.id, row=row.number, errors=row.problems)]
            continue
        report, (also, not_also) = next(read), next(written)
        if isinstance(report, Problem):
            yield [PerturbedRow(id=row.id, row=row.number, errors=(report,))]
            continue
        made, skipped = perturb(
            report, row.id, seed=settings.seed, chosen=settings.groups, each=settings.each
        )
        common = {"case": row.id, "reference": row.text, **along.get(row.number, {})}
        if settings.answers:
            common |= {"report_augmented": row.text, "report_attacked": row.text}
        yield _rows(common, made, also, [*skipped, *not_also])


def _failed(message: str) -> Problem:
    return Problem(code="reader_failed", message=shown(message))


def _rows(
    common: Mapping[str, Any],
    made: Sequence[EditedReport],
    also: Sequence[EditedReport],
    skipped: Sequence[SkippedEdit],
) -> list[PerturbedRow]:
    rows = []
    for by, some in ((RULES, made), (MODEL, also)):
        for each in some:
            rows.append(
                PerturbedRow(
                    id=f"{common['case']}/{each.edit}",
                    group=each.group,
                    edit=each.edit,
                    level=each.level,
                    by=by,
                    report=each.text,
                    changes=each.changes,
                    not_made=dict(skipped) if each.edit == CONTROL else {},
                    **common,
                )
            )
    return rows


def _request(
    source: TextSource, reader: Reader, settings: Settings, subject: Vlm | None
) -> dict[str, Any]:
    return {
        "histoeval": __version__,
        "input": source.name,
        "sha256": source.sha256,
        "reader": reader.identity,
        "rules": rules_hash(),
        "settings": settings.model_dump(mode="json"),
        "model": None if subject is None else subject.identity,
    }


def _summary(source: TextSource, tally: _Tally) -> dict[str, Any]:
    not_made: dict[str, dict[str, int]] = {}
    for (edit, reason), count in sorted(tally.not_made.items()):
        not_made.setdefault(edit, {})[reason] = count
    return {
        "input": source.description(),
        "reports": tally.cases,
        "rows_with_errors": tally.failed_rows,
        "groups": dict(tally.groups),
        "edits": dict(sorted(tally.made.items())),
        "not_made": not_made,
        "errors": tally.errors(),
    }
