"""Reports written by a model on images and slides, ready for `trust` and `score`.

The folder gets `reports.jsonl`, a row for each image and level of specimen information, written as
reports come and continued by the same command; at the end `reports.csv` with the same rows, one
table for each level where there are several, and `summary.json`.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import EndpointError, OutputError, Problem
from histoeval.io.jsonl_rows import RowFile, write_lines
from histoeval.io.results import files_of, write_json
from histoeval.io.tables.row_faults import shown
from histoeval.report import Noun
from histoeval.run.image_list import Cases, ContextLevel, ImageCase
from histoeval.run.pipeline import Watch, nobody_watches
from histoeval.run.totals import RowCount
from histoeval.trust.stability.attacks import task_of
from histoeval.trust.stability.examine import Examination, draft, views_in
from histoeval.trust.stability.tile_reports import TileReport, TileReportDraft, write_all
from histoeval.version import __version__
from histoeval.vlm.model import Vlm

ROWS, TABLE, SUMMARY = "reports.jsonl", "reports.csv", "summary.json"

AT_ONCE = 8
"""Images whose reports are asked for together."""


class GeneratedRow(Noun):
    """A report on one image, or the reasons why there is none."""

    id: str
    image: str
    system: str
    level: str
    """The level of specimen information."""
    specimen: str = ""
    """What the model was told at that level."""
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


def generate(
    cases: Cases,
    subject: Vlm,
    examination: Examination,
    levels: Sequence[ContextLevel],
    output: Path,
    *,
    system: str,
    overwrite: bool = False,
    watch: Watch = nobody_watches,
) -> dict[str, Any]:
    """Have a report written for every case at every level; the summary of all rows.

    `system` is what results call the model. An endpoint that is gone stops the run; what was
    answered is kept, and the same command goes on there.
    """
    with files_of(output):
        if output.is_file():
            raise OutputError(f"{output} is a file; reports need a folder")
        output.mkdir(parents=True, exist_ok=True)
    file = RowFile(output / ROWS, GeneratedRow.model_validate_json)
    file.prepare(_request(cases, subject, examination, levels, system), overwrite=overwrite)
    tally = RowCount()
    for row in file.finished():
        tally.count(row.errors)
    names = _system_names(levels, system)
    with file.append() as lines:
        for chunk in _chunks(cases.cases, len(levels), tally.rows):
            rows = _written(chunk, subject, examination, levels, names)
            fresh = rows[tally.rows % len(levels) :]
            if subject.gone is not None:
                raise EndpointError(
                    f"{subject.gone}. What was answered is kept: the same command goes on there"
                )
            write_lines(lines, fresh)
            for row in fresh:
                tally.count(row.errors)
            watch(tally.rows, tally.failed_rows, tally.rows)
    summary = _summary(cases, subject, examination, levels, tally)
    file.finish(summary)
    _write_tables(output, file, levels)
    with files_of(output):
        write_json(output / SUMMARY, summary)
    return summary


def _chunks(cases: Sequence[ImageCase], levels: int, done: int) -> Iterator[Sequence[ImageCase]]:
    """The cases that are left, a few at a time; the first may have some of its rows already."""
    left = cases[done // levels :]
    if done % levels:
        yield left[:1]
        left = left[1:]
    for first in range(0, len(left), AT_ONCE):
        yield left[first : first + AT_ONCE]


def _written(
    cases: Sequence[ImageCase],
    subject: Vlm,
    examination: Examination,
    levels: Sequence[ContextLevel],
    names: Sequence[str],
) -> list[GeneratedRow]:
    """A row for each case and level, all of them asked for together."""
    planned = [each for case in cases for each in _planned(case, examination, levels)]
    drafts = [each for each, _ in planned if isinstance(each, TileReportDraft)]
    reports = iter(write_all(drafts, subject, examination.merge))
    outcomes = [
        (next(reports) if isinstance(each, TileReportDraft) else each, notes)
        for each, notes in planned
    ]
    places = [(case, *each) for case in cases for each in zip(levels, names, strict=True)]
    return [
        _row(case, level, system, outcome, notes)
        for (case, level, system), (outcome, notes) in zip(places, outcomes, strict=True)
    ]


Planned = tuple[TileReportDraft | tuple[Problem, ...], tuple[str, ...]]
"""What is to be written, or why it cannot be; and what there is to say of the image."""


def _planned(
    case: ImageCase, examination: Examination, levels: Sequence[ContextLevel]
) -> list[Planned]:
    """A draft for each level of one case."""
    if case.problems:
        return [(case.problems, ())] * len(levels)
    views = views_in(case.path, examination)
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
        specimen=told if isinstance(told := level.specimen(case), str) else "",
        reference=case.reference,
    )
    if isinstance(outcome, TileReport):
        update: dict[str, Any] = {"report": outcome.text, "notes": (*notes, *outcome.notes)}
    else:
        errors = (outcome,) if isinstance(outcome, Problem) else outcome
        update = {"errors": errors}
    return row.model_copy(update=update)


def _system_names(levels: Sequence[ContextLevel], system: str) -> list[str]:
    """Each level is a system of its own where there are several."""
    return [system if len(levels) == 1 else f"{system}/{level.name}" for level in levels]


def _write_tables(
    output: Path, file: RowFile[GeneratedRow], levels: Sequence[ContextLevel]
) -> None:
    """All rows as a table for `score`; those of each level as one for `trust`."""
    _write_table(output / TABLE, file.finished())
    for level in levels if len(levels) > 1 else ():
        rows = (row for row in file.finished() if row.level == level.name)
        name = re.sub(r"[^\w+-]+", "_", level.name)
        _write_table(output / f"reports_{name}.csv", rows)


def _write_table(path: Path, rows: Iterator[GeneratedRow]) -> None:
    """Rows without a report have an empty cell there, so that whoever reads them counts them."""
    kept = list(rows)
    columns = ["id", "image", "system", "level", "specimen", "report"]
    if any(row.reference is not None for row in kept):
        columns.append("reference")
    with files_of(path), path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows([[getattr(row, name) or "" for name in columns] for row in kept])


def _request(
    cases: Cases,
    subject: Vlm,
    examination: Examination,
    levels: Sequence[ContextLevel],
    system: str,
) -> dict[str, Any]:
    """What makes two runs the same: the images and everything that the reports depend on."""
    return {
        "histoeval": __version__,
        "input": cases.name,
        "sha256": cases.sha256,
        "subject": subject.identity,
        "system": system,
        "prompt": examination.neutral.identity,
        "levels": [level.name for level in levels],
        **examination.views_pins(),
    }


def _summary(
    cases: Cases,
    subject: Vlm,
    examination: Examination,
    levels: Sequence[ContextLevel],
    tally: RowCount,
) -> dict[str, Any]:
    return {
        "input": cases.name,
        "subject": subject.identity,
        "prompt": examination.neutral.identity,
        **examination.views_pins(),
        "levels": [level.name for level in levels],
        "images": len(cases.cases),
        "rows": tally.rows,
        "rows_with_errors": tally.failed_rows,
        "errors": tally.errors(),
    }
