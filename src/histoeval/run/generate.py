"""Reports written by a model on images and slides, ready for `trust` and `score`.

The folder gets `reports.jsonl`, a row for each image and level of specimen information, written as
reports come and resumed by the same command; at the end `reports.csv` with the same rows, one
table for each level where there are several, and `summary.json`.
"""

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from histoeval.errors import EndpointError, HistoEvalError, OutputError, Problem
from histoeval.io.images import image_hash, refuse_changed
from histoeval.io.store import RowStore
from histoeval.io.tables.delimited import OWN_HEADER, formula_proof
from histoeval.io.tables.row_faults import shown
from histoeval.io.writing import whole_file, write_json, writing_to
from histoeval.llm.usage import Usage
from histoeval.pathgls.stability.attacks import task_of
from histoeval.pathgls.stability.examine import (
    Examination,
    TileReport,
    TileReportDraft,
    draft,
    views_in,
    write_all,
)
from histoeval.report import Noun
from histoeval.run.engines.engine import INLINE, Engine, Task
from histoeval.run.image_list import Cases, ContextLevel, ImageCase
from histoeval.run.pipeline import Job, Watch, no_progress
from histoeval.vlm.model import Vlm

ROWS, TABLE, SUMMARY = "reports.jsonl", "reports.csv", "summary.json"

IMAGE_BATCH = 8
"""Images whose reports are requested together."""


class GeneratedRow(Noun):
    """A report on one image, or the reasons why there is none."""

    id: str
    image: str
    image_hash: str | None = None
    """Of the content of the image, so that a resumed run notices another one."""
    system: str
    level: str
    """The level of specimen information."""
    specimen: str = ""
    """What the model is given at that level."""
    report: str | None = None
    reference: str | None = None
    notes: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        """The row as one line of JSON."""
        content = self.model_dump(exclude={"errors", "notes"}) | {"notes": list(self.notes)}
        content["errors"] = [{"code": e.code, "message": e.message} for e in self.errors]
        if self.reference is None:
            del content["reference"]
        return shown(json.dumps(content, ensure_ascii=False)).encode() + b"\n"


class ReportTask(NamedTuple):
    """One image at one level of specimen information."""

    case: ImageCase
    level: ContextLevel


class _Tasks(NamedTuple):
    """Every case at every level, in order."""

    cases: Cases
    levels: Sequence[ContextLevel]

    def rows(self) -> Iterator[ReportTask]:
        return (ReportTask(case, level) for case in self.cases.cases for level in self.levels)

    def identity(self) -> dict[str, Any]:
        return {"input": self.cases.name, "sha256": self.cases.sha256}

    def description(self) -> str:
        return self.cases.name


def generate(
    cases: Cases,
    subject: Vlm,
    examination: Examination,
    levels: Sequence[ContextLevel],
    output: Path,
    *,
    system: str,
    overwrite: bool = False,
    watch: Watch = no_progress,
    engine: Engine = INLINE,
    batch_size: int | None = None,
) -> dict[str, Any]:
    """Have a report written for every case at every level; the summary of all rows.

    `system` is what results call the model. An endpoint that is gone stops the run; every answer is
    cached, and the same command resumes there.
    """
    if output.is_file():
        raise OutputError(f"{output} is a file; reports need a folder")
    store = RowStore(output / ROWS, GeneratedRow.model_validate_json, verb="generate")
    job = GenerateJob(cases, subject, examination, levels, system, batch_size)

    def conclude(summary: dict[str, Any]) -> None:
        with writing_to(output):
            _write_tables(output, store, levels)
            write_json(output / SUMMARY, summary)

    return job.run(
        store, overwrite=overwrite, watch=watch, conclude=conclude, engine=engine
    ).summary


class GenerateTask(Task[ReportTask, GeneratedRow]):
    """Reports for cases at levels, all of a block requested together."""

    name = "generate"
    parallel = False

    def __init__(self, subject: Vlm, examination: Examination, names: Mapping[str, str]) -> None:
        self.subject = subject
        self.examination = examination
        self.names = names
        self._home = os.getpid()

    def work(self, rows: Sequence[ReportTask]) -> list[GeneratedRow]:
        """A row for each task, all of them requested together."""
        planned: list[Planned] = []
        hashes: list[str | None] = []
        for case, tasks in groupby(rows, key=lambda task: task.case):
            levels = [task.level for task in tasks]
            hashes += [None if case.problems else image_hash(case.path)] * len(levels)
            planned += _planned(case, self.examination, levels)
        drafts = [each for each, _ in planned if isinstance(each, TileReportDraft)]
        reports = iter(write_all(drafts, self.subject, self.examination.merge))
        found = []
        for task, (each, notes), content in zip(rows, planned, hashes, strict=True):
            outcome = next(reports) if isinstance(each, TileReportDraft) else each
            row = _row(task.case, task.level, self.names[task.level.name], outcome, notes)
            found.append(row.model_copy(update={"image_hash": content}))
        if self.subject.gone is not None:
            raise EndpointError(
                f"{self.subject.gone}. Every answer is cached: the same command resumes there"
            )
        return found

    def failed(self, row: ReportTask, problem: Problem) -> GeneratedRow:
        """A case without a report."""
        return _row(row.case, row.level, self.names[row.level.name], problem, ())

    def take_usage(self) -> Usage | None:
        """Requests since this was last called; nothing in the process whose own model counts."""
        return None if os.getpid() == self._home else self.subject.usage.take()


class GenerateJob(Job[ReportTask, GeneratedRow]):
    """A report for every case at every level; those of a few cases are requested together."""

    def __init__(
        self,
        cases: Cases,
        subject: Vlm,
        examination: Examination,
        levels: Sequence[ContextLevel],
        system: str,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(_Tasks(cases, levels), batch_size)
        self.block_rows = IMAGE_BATCH * len(levels)
        self.cases = cases
        self.subject = subject
        self.examination = examination
        self.levels = levels
        self.system = system
        self.task = GenerateTask(subject, examination, _names(levels, system))

    def charge(self, usage: Usage | None) -> None:
        """Add what was asked in another process to what was asked here."""
        if usage is not None:
            self.subject.usage.add(usage)

    def request(self) -> dict[str, Any]:
        """The images, the model, and everything it is shown and asked."""
        return super().request() | {"system": self.system}

    def summary(self) -> dict[str, Any]:
        """How the reports were made, how many there are, and all errors."""
        found = super().summary()
        return {"input": found.pop("input"), "images": len(self.cases.cases), **found}

    def _settings(self) -> dict[str, Any]:
        return {
            "subject": self.subject.identity,
            "prompt": self.examination.neutral.identity,
            "levels": [level.name for level in self.levels],
            **self.examination.views_pins(),
        }

    def _is_result(self, found: GeneratedRow, given: ReportTask) -> bool:
        case = given.case
        if (found.id, found.level) != (case.id, given.level.name):
            return False
        refuse_changed(case.image, case.path, found.image_hash)
        return True


def _names(levels: Sequence[ContextLevel], system: str) -> dict[str, str]:
    """What each level is called; it is a system of its own where there are several."""
    several = len(levels) > 1
    return {level.name: f"{system}/{level.name}" if several else system for level in levels}


Planned = tuple[TileReportDraft | tuple[Problem, ...], tuple[str, ...]]
"""What is to be written, or why it cannot be; and notes on the image."""


def _planned(
    case: ImageCase, examination: Examination, levels: Sequence[ContextLevel]
) -> list[Planned]:
    """A draft for each level of one case."""
    if case.problems:
        return [(case.problems, ())] * len(levels)
    try:
        views = views_in(case.path, examination)
    except HistoEvalError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever an image does, the others get reports
        views = Problem("failed", shown(f"{type(error).__name__}: {error}"))
    if isinstance(views, Problem):
        return [((views,), ())] * len(levels)
    planned: list[Planned] = []
    for level in levels:
        specimen = level.specimen(case)
        if isinstance(specimen, Problem):
            planned.append(((specimen,), ()))
        else:
            text = task_of(examination.neutral, specimen)
            planned.append((draft(level.name, text, views, examination), views.notes))
    return planned


def _row(
    case: ImageCase,
    level: ContextLevel,
    system: str,
    outcome: TileReport | Problem | tuple[Problem, ...],
    notes: tuple[str, ...],
) -> GeneratedRow:
    row = GeneratedRow(
        id=case.id,
        image=case.image,
        system=system,
        level=level.name,
        specimen=text if isinstance(text := level.specimen(case), str) else "",
        reference=case.reference,
    )
    if isinstance(outcome, TileReport):
        update: dict[str, Any] = {"report": outcome.text, "notes": (*notes, *outcome.notes)}
    else:
        errors = (outcome,) if isinstance(outcome, Problem) else outcome
        update = {"errors": errors}
    return row.model_copy(update=update)


def _write_tables(
    output: Path, rows: Iterable[GeneratedRow], levels: Sequence[ContextLevel]
) -> None:
    """All rows as a table for `score`; those of each level as one for `trust`."""
    _write_table(output / TABLE, rows, [level.name for level in levels])
    for level in levels if len(levels) > 1 else ():
        name = re.sub(r"[^\w+-]+", "_", level.name)
        _write_table(output / f"reports_{name}.csv", rows, [level.name])


def _write_table(path: Path, rows: Iterable[GeneratedRow], levels: Sequence[str]) -> None:
    """Rows without a report have an empty cell there, so that whoever reads them counts them."""
    columns = [*OWN_HEADER]
    if any(row.reference is not None for row in rows if row.level in levels):
        columns.append("reference")
    with whole_file(path) as file:
        text = io.TextIOWrapper(file, "utf-8", "backslashreplace", newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            if row.level in levels:
                writer.writerow([formula_proof(getattr(row, name) or "") for name in columns])
        text.detach()
