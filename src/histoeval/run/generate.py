"""Reports written by a model on images and slides, ready for `trust` and `score`.

Images are those of a folder, a single one, or those that a table names in a column `image`. It
mostly has an `id`, perhaps a `reference`, and whatever else is known of a specimen (organ,
procedure, history), of which a model can be given more or less.

The folder gets `reports.jsonl`, a row for each image and level of specimen information, written as
reports come and resumed by the same command; at the end `reports.csv` with the same rows, one
table for each level where there are several, and `summary.json`.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from histoeval.errors import (
    EndpointError,
    HistoEvalError,
    InputError,
    OutputError,
    Problem,
    SettingError,
    did_you_mean,
)
from histoeval.io.files import ENDINGS, NO_VALUE, SeenNames, TableSource, demand_rows, open_table
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.images import check_image, image_hash, refuse_changed
from histoeval.io.store import RowStore
from histoeval.io.tables.columns import TableLayout, columns_by_name, columns_found, normalised
from histoeval.io.tables.delimited import OWN_HEADER, csv_text
from histoeval.io.tables.records import Record, name_of, shown, text_of
from histoeval.io.writing import write_json, write_whole, writing_to
from histoeval.llm.usage import Usage
from histoeval.pathgls.grounding.embedded_image import PICTURE
from histoeval.pathgls.stability.examine import (
    Examination,
    TileReport,
    TileReportDraft,
    draft,
    task_of,
    views_in,
    write_all,
)
from histoeval.report import Noun
from histoeval.run.engines.engine import Task
from histoeval.run.pipeline import Job, RunOptions
from histoeval.vlm.model import Vlm

IMAGE_NAMES = ("image", "image_path", "slide", "file", "path", "filename")
REFERENCE = "reference"
NOTHING = "none"  # the level of specimen information at which a model is given nothing


class ImageCase(NamedTuple):
    id: str
    image: str  # as results name it: relative to the folder, or as the table has it
    path: Path
    about: Mapping[str, str]  # what is known of the specimen, by column
    reference: str | None = None
    problems: tuple[Problem, ...] = ()


class ContextLevel(NamedTuple):
    name: str
    columns: tuple[str, ...]

    def specimen(self, case: ImageCase) -> str | Problem:
        if missing_columns := [name for name in self.columns if not case.about.get(name)]:
            return Problem(
                "missing_value",
                f"the table has no {missing_columns[0]} for {case.id}, which the level "
                f"{self.name} needs",
                column=missing_columns[0],
            )
        return "\n".join(f"- {name}: {case.about[name]}" for name in self.columns)


class ReportTask(NamedTuple):
    case: ImageCase
    level: ContextLevel


class Cases(NamedTuple):
    name: str
    sha256: str  # of the table; of a folder, of the names of its images
    columns: tuple[str, ...]
    cases: tuple[ImageCase, ...]
    levels: Sequence[ContextLevel] = ()

    def rows(self) -> Iterator[ReportTask]:
        return (ReportTask(case, level) for case in self.cases for level in self.levels)

    def identity(self) -> dict[str, Any]:
        return {"input": self.name, "sha256": self.sha256}

    def description(self) -> str:
        return self.name


def open_cases(path: Path, images: Path | None = None, encoding: str | None = None) -> Cases:
    """Open the images of a folder, one image, or those of a table (relative to `images`)."""
    check_image(path)
    ending = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if path.is_file() and ending in ENDINGS and ending != ".txt":
        return _of_table(path, images or path.parent, encoding)
    if images is not None:
        raise SettingError("--images goes with a table that names the images")
    if not path.is_dir():
        return _of_files(path.name, path.parent, [path])
    from histoeval.slides.open import find_slides

    slides = list(find_slides(path))
    if not slides:
        raise wrong_folder(path, "holds no images or slides")
    return _of_files(path.resolve().name, path, slides)


def levels_of(specs: Sequence[str], columns: Sequence[str]) -> list[ContextLevel]:
    """Parse level names: `none`, or columns of the table joined by +."""
    known_columns = {normalised(name): name for name in columns}
    levels = []
    for spec in dict.fromkeys(spec.strip() for spec in specs):
        level_columns = [] if spec == NOTHING else [normalised(part) for part in spec.split("+")]
        if unknown_columns := [part for part in level_columns if part not in known_columns]:
            columns_note = f"; columns: {', '.join(columns)}" if columns else ""
            hint = did_you_mean(unknown_columns[0], columns)
            raise SettingError(
                f"--specimen {spec}: there is no column {unknown_columns[0]!r}{hint}{columns_note}"
            )
        levels.append(ContextLevel(spec, tuple(known_columns[part] for part in level_columns)))
    return levels


class RequestCount(NamedTuple):
    pictures: int
    slides: int
    unusable: int
    requests: int


def counted(cases: Cases, levels: Sequence[ContextLevel], examination: Examination) -> RequestCount:
    """Count pictures, slides and requests at most, without sending any.

    A slide whose tissue is small has fewer tiles than are counted here.
    """
    from histoeval.slides.open import open_slide

    sizes: Counter[str] = Counter()
    for case in cases.cases:
        try:
            if case.problems:
                raise InputError("the row cannot be read")
            with open_slide(case.path, mpp=examination.mpp) as slide:
                is_single_picture = (
                    max(slide.width, slide.height) <= PICTURE or examination.look == "overview"
                )
                sizes["pictures" if is_single_picture else "slides"] += 1
        except InputError:
            sizes["unusable"] += 1
    merges = int(examination.merge is not None and examination.tiles > 1)
    requests_per_level = sizes["pictures"] + sizes["slides"] * (examination.tiles + merges)
    return RequestCount(
        sizes["pictures"], sizes["slides"], sizes["unusable"], requests_per_level * len(levels)
    )


def _of_files(name: str, folder: Path, paths: Sequence[Path]) -> Cases:
    """Cases of image files; ids are names without endings where these are unique."""
    images = [path.relative_to(folder) for path in paths]
    stems = [image.with_suffix("").as_posix() for image in images]
    stem_counts = Counter(stems)
    digest = hashlib.sha256()
    for image in images:
        digest.update(f"{image.as_posix()}\0".encode("utf-8", "surrogateescape"))
    cases = [
        ImageCase(stem if stem_counts[stem] == 1 else image.as_posix(), image.as_posix(), path, {})
        for stem, image, path in zip(stems, images, paths, strict=True)
    ]
    return Cases(name, digest.hexdigest(), (), tuple(cases))


def _of_table(path: Path, images: Path, encoding: str | None) -> Cases:
    image_table = open_table(path, encoding=encoding)
    columns = image_table.table.columns
    by_name = columns_by_name(columns)
    image = next((by_name[name] for name in IMAGE_NAMES if name in by_name), None)
    if image is None:
        raise InputError(f"{path} has no column 'image'{columns_found(columns)}")
    demand_rows(image_table.table, columns, path)
    id_, reference = by_name.get("id"), by_name.get(REFERENCE)
    other_columns = tuple(name for name in columns if name not in (image, id_, reference))
    layout = _ImageLayout(id=id_, image=image, reference=reference, about=other_columns)
    cases = tuple(_ImageSource(**vars(image_table), layout=layout, folder=images).rows())
    return Cases(path.name, image_table.sha256, other_columns, cases)


class _ImageLayout(TableLayout):
    image: str
    reference: str | None
    about: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class _ImageSource(TableSource[_ImageLayout, ImageCase]):
    folder: Path

    def rows_of(
        self, record: Record, values: Mapping[str, object], seen: SeenNames
    ) -> Iterator[ImageCase]:
        layout = self.layout
        label, id_fault = self.name_of(record, seen)
        image = name_of(values.get(layout.image), NO_VALUE)
        cells = (layout.id or "id", id_fault), (layout.image, image)
        problems = self.problems_in(record, *cells)
        texts = {name: text_of(values.get(name)) for name in layout.columns}
        cell_texts = {name: text for name, text in texts.items() if isinstance(text, str)}
        reference = cell_texts.get(layout.reference or "")
        specimen_info = {name: cell_texts[name] for name in layout.about if name in cell_texts}
        name = image if isinstance(image, str) else ""
        yield ImageCase(label, name, self.folder / name, specimen_info, reference, problems)


ROWS, TABLE, SUMMARY = "reports.jsonl", "reports.csv", "summary.json"

IMAGE_BATCH = 8  # images whose reports are requested together


class GeneratedRow(Noun):
    id: str
    image: str
    # Of the content of the image, so that a resumed run notices another one.
    image_hash: str | None = None
    system: str
    level: str  # the level of specimen information
    specimen: str = ""  # what the model is given at that level
    report: str | None = None
    reference: str | None = None
    notes: tuple[str, ...] = ()
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        content = self.model_dump(exclude={"errors", "notes"}) | {"notes": list(self.notes)}
        content["errors"] = [
            {"code": error.code, "message": error.message} for error in self.errors
        ]
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
    batch_size: int | None = None,
    **options: Unpack[RunOptions],
) -> dict[str, Any]:
    """Have a report written for every case at every level; return the summary of all rows."""
    if output.is_file():
        raise OutputError(f"{output} is a file; reports need a folder")
    store = RowStore(output / ROWS, GeneratedRow.model_validate_json, verb="generate")
    job = GenerateJob(cases, subject, examination, levels, system, batch_size)

    def conclude(summary: dict[str, Any]) -> None:
        with writing_to(output):
            _write_table(output / TABLE, store, [level.name for level in levels])
            for level in levels if len(levels) > 1 else ():  # `trust` takes one at a time
                name = re.sub(r"[^\w+-]+", "_", level.name)
                _write_table(output / f"reports_{name}.csv", store, [level.name])
            write_json(output / SUMMARY, summary)

    return job.run(store, conclude=conclude, **options).summary


class GenerateTask(Task[ReportTask, GeneratedRow]):
    name = "generate"
    parallel = False

    def __init__(self, subject: Vlm, examination: Examination, names: Mapping[str, str]) -> None:
        self.subject = subject
        self.examination = examination
        self.names = names
        self._home = os.getpid()

    def work(self, rows: Sequence[ReportTask]) -> list[GeneratedRow]:
        planned: list[Planned] = []
        hashes: list[str | None] = []
        for case, tasks in groupby(rows, key=lambda task: task.case):
            levels = [task.level for task in tasks]
            hashes += [None if case.problems else image_hash(case.path)] * len(levels)
            planned += _planned(case, self.examination, levels)
        drafts = [
            report_draft for report_draft, _ in planned if isinstance(report_draft, TileReportDraft)
        ]
        reports = iter(write_all(drafts, self.subject, self.examination.merge))
        generated_rows = []
        for task, (planned_report, notes), image_digest in zip(rows, planned, hashes, strict=True):
            outcome = (
                next(reports) if isinstance(planned_report, TileReportDraft) else planned_report
            )
            row = _row(task.case, task.level, self.names[task.level.name], outcome, notes)
            generated_rows.append(row.model_copy(update={"image_hash": image_digest}))
        if self.subject.gone is not None:
            raise EndpointError(
                f"{self.subject.gone}. Every answer is cached: the same command resumes there"
            )
        return generated_rows

    def failed(self, row: ReportTask, problem: Problem) -> GeneratedRow:
        return _row(row.case, row.level, self.names[row.level.name], problem, ())

    def take_usage(self) -> Usage | None:
        return None if os.getpid() == self._home else self.subject.usage.take()


class GenerateJob(Job[ReportTask, GeneratedRow]):
    def __init__(
        self,
        cases: Cases,
        subject: Vlm,
        examination: Examination,
        levels: Sequence[ContextLevel],
        system: str,
        batch_size: int | None = None,
    ) -> None:
        super().__init__(cases._replace(levels=levels), batch_size)
        self.block_rows = IMAGE_BATCH * len(levels)
        self.cases = cases
        self.subject = subject
        self.examination = examination
        self.levels = levels
        self.system = system
        names = [level.name for level in levels]
        # a level is a system of its own where there are several
        system_names = {name: f"{system}/{name}" if len(names) > 1 else system for name in names}
        self.task = GenerateTask(subject, examination, system_names)

    def charge(self, usage: Usage | None) -> None:
        if usage is not None:
            self.subject.usage.add(usage)

    def request(self) -> dict[str, Any]:
        return super().request() | {"system": self.system}

    def summary(self) -> dict[str, Any]:
        summary = super().summary()
        return {"input": summary.pop("input"), "images": len(self.cases.cases), **summary}

    def _settings(self) -> dict[str, Any]:
        return {
            "subject": self.subject.identity,
            "prompt": self.examination.neutral.identity,
            "levels": [level.name for level in self.levels],
            **self.examination.views_pins(),
        }

    def _is_result(self, row: GeneratedRow, task: ReportTask) -> bool:
        case = task.case
        if (row.id, row.level) != (case.id, task.level.name):
            return False
        refuse_changed(case.image, case.path, row.image_hash)
        return True


# What is to be written, or why it cannot be; and notes on the image.
Planned = tuple[TileReportDraft | tuple[Problem, ...], tuple[str, ...]]


def _planned(
    case: ImageCase, examination: Examination, levels: Sequence[ContextLevel]
) -> list[Planned]:
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


def _write_table(path: Path, rows: Iterable[GeneratedRow], levels: Sequence[str]) -> None:
    """Write rows as CSV; a missing report is an empty cell, so that readers count it."""
    level_rows = [row for row in rows if row.level in levels]
    has_references = any(row.reference is not None for row in level_rows)
    columns = [*OWN_HEADER, *([REFERENCE] if has_references else [])]
    text = csv_text([{name: getattr(row, name) or "" for name in columns} for row in level_rows])
    write_whole(path, text.encode("utf-8", "backslashreplace"))
