"""A perturbed set: edited versions of true reports, as they are made, written and read again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import ValidationError

from histoeval.errors import InputError, Problem, did_you_mean, explain_validation
from histoeval.io.reports import TextRow, TextSource
from histoeval.io.store import RowStore, not_of_input
from histoeval.io.tables.encoding import open_lines, survey
from histoeval.io.writing import write_whole
from histoeval.progress import ignore
from histoeval.reader.reader import Reader
from histoeval.report import Noun
from histoeval.run.engines.engine import Task
from histoeval.run.extract import read_failed
from histoeval.run.pipeline import Job, Watch, answers
from histoeval.settings import Option
from histoeval.vlm.model import Vlm
from histoeval_research.experiments.edits.registry import (
    CONTROL,
    Edits,
    groups,
    perturb,
    prompts,
    rewrite,
    rules_hash,
)
from histoeval_research.experiments.edits.source_report import Change

RULES, MODEL = "rules", "model"  # who made an edit

Seed = Annotated[int, Option("Random seed.")]

TAKEN_ALONG = ("image", "patient")  # columns that are taken along where a table has them


class PerturbedRow(Noun):
    """One report of a perturbed set, or the reasons why its row of the input has none."""

    # `case` is the id of the true report, `reference` its text, and `patient` of whom it is, where
    # that is known. On the control stands what could not be made of it, and why. `report_augmented`
    # and `report_attacked` are as `trust` takes them.

    id: str
    case: str = ""
    patient: str | None = None
    group: str = ""
    edit: str = ""
    level: int = 0
    by: str = RULES
    image: str | None = None
    report: str | None = None
    reference: str | None = None
    report_augmented: str | None = None
    report_attacked: str | None = None
    changes: tuple[Change, ...] = ()
    not_made: Mapping[str, str] = {}
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    @property
    def characters(self) -> int:
        return len(self.report or "")

    @property
    def cluster(self) -> str:
        return self.patient or self.case

    def line(self) -> bytes:
        content = self.model_dump(mode="json", exclude_defaults=True)
        if not self.errors:
            content = {"id": self.id, "case": self.case, "level": self.level} | content
        else:
            content["errors"] = [
                {"code": e.code, "message": e.message, "column": e.column} for e in self.errors
            ]
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


class PerturbedSet(NamedTuple):
    path: Path
    reports: Sequence[PerturbedRow]

    def rows(self) -> Iterator[PerturbedRow]:
        return iter(self.reports)

    def identity(self) -> dict[str, Any]:
        return {"input": self.path.name, "sha256": survey(self.path, "utf-8").sha256}

    def description(self) -> str:
        return self.path.name


def read_perturbed(path: Path) -> PerturbedSet:
    """A perturbed set without the rows that had errors."""
    reports: list[PerturbedRow] = []
    with open_lines(path, survey(path, "utf-8").encoding) as lines:
        for line in lines:
            if line.isspace():
                continue
            where = f"{path}, line {lines.number}"
            try:
                row = PerturbedRow.model_validate_json(line)
            except ValidationError as error:
                raise InputError(
                    f"{where} is no row of a set as `histoeval experiment perturb` writes it: "
                    f"{explain_validation(error, 'the line')}"
                ) from error
            if not row.errors:
                if not (row.report and row.reference and row.case and row.group):
                    raise InputError(f"{where}: a row needs case, group, report and reference")
                reports.append(row)
    if not reports:
        raise InputError(
            f"{path} holds no perturbed report; `histoeval experiment perturb` makes them"
        )
    if twice := [name for name, count in Counter(r.id for r in reports).items() if count > 1]:
        raise InputError(f"{path} has the id {twice[0]!r} twice")
    return PerturbedSet(path, reports)


@dataclass(frozen=True)
class PerturbSettings:
    """What is made of every report."""

    seed: Seed = 0
    each: Annotated[
        int | None,
        Option("Edits of every group for each report; 0 for all.", min=0, read=lambda n: n or None),
    ] = 1
    groups: Annotated[
        Sequence[str],
        Option("Only this group of edits; can be repeated.", name="--group"),
    ] = ()
    answers: Annotated[
        bool,
        Option(
            "Use the true report as the model's answer under stain changes and attack, so "
            "that `trust` can measure stability: a model that errs in one answer only.",
            name="--answers",
        ),
    ] = False

    def __post_init__(self) -> None:
        if unknown := sorted(set(self.groups) - set(groups())):
            guess = did_you_mean(unknown[0], groups())
            known = ", ".join(groups())
            raise InputError(f"there is no group {unknown[0]!r}{guess}; known: {known}")


def perturb_file(
    source: TextSource,
    reader: Reader,
    output: Path,
    settings: PerturbSettings,
    *,
    subject: Vlm | None = None,
    overwrite: bool = False,
    batch_size: int = 32,
    watch: Watch = ignore,
) -> dict[str, Any]:
    job = PerturbJob(source, PerturbTask(source, reader, settings, subject), batch_size)
    return job.run(PerturbedFile(output), overwrite=overwrite, watch=watch).summary


class PerturbedFile(RowStore[PerturbedRow]):
    """A perturbed set on disk: several rows for each report."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, PerturbedRow.model_validate_json)

    def _drop_unfinished(self) -> None:
        """Also the rows of the last report, of which there may be more to come."""
        super()._drop_unfinished()
        done = list(self)
        last = done[-1].case if done else ""
        kept = [row for row in done if row.errors or row.case != last]
        if len(kept) < len(done):
            write_whole(self.path, b"".join(row.line() for row in kept))


class PerturbTask(Task[TextRow, PerturbedRow]):
    name = "perturb"

    def __init__(
        self, source: TextSource, reader: Reader, settings: PerturbSettings, subject: Vlm | None
    ) -> None:
        self.reader = reader
        self.settings = settings
        self.subject = subject
        self.along = taken_along(source)

    def work(self, rows: Sequence[TextRow]) -> list[PerturbedRow]:
        settings = self.settings
        texts = [row.text for row in rows if row.text is not None]
        reports = iter(answers(self.reader.read, texts, read_failed))
        wanted = [name for name in prompts()["groups"] if name in (settings.groups or groups())]
        rewritten = iter([] if self.subject is None else rewrite(self.subject, texts, wanted))
        perturbed: list[PerturbedRow] = []
        for row in rows:
            if row.text is None:
                perturbed.append(PerturbedRow(id=row.id, row=row.number, errors=row.problems))
                continue
            report, by_model = next(reports), next(rewritten, ([], {}))
            if isinstance(report, Problem):
                perturbed.append(self.failed(row, report))
                continue
            chosen = settings.groups or None
            by_rule = perturb(report, row.id, seed=settings.seed, chosen=chosen, each=settings.each)
            perturbed += self._rows(row, row.text, by_rule, by_model)
        return perturbed

    def _rows(
        self, row: TextRow, text: str, by_rule: Edits, by_model: Edits
    ) -> Iterator[PerturbedRow]:
        answer = text if self.settings.answers else None
        for by, (edited, _) in ((RULES, by_rule), (MODEL, by_model)):
            for version in edited:
                made = version._asdict()
                yield PerturbedRow(
                    id=f"{row.id}/{version.edit}",
                    case=row.id,
                    by=by,
                    report=made.pop("text"),
                    reference=text,
                    report_augmented=answer,
                    report_attacked=answer,
                    not_made=by_rule[1] | by_model[1] if version.edit == CONTROL else {},
                    **made,
                    **self.along.get(row.number, {}),
                )

    def failed(self, row: TextRow, problem: Problem) -> PerturbedRow:
        return PerturbedRow(id=row.id, row=row.number, errors=(problem,))


class PerturbJob(Job[TextRow, PerturbedRow]):
    block_characters = 200_000
    task: PerturbTask

    def __init__(self, source: TextSource, task: PerturbTask, batch_size: int) -> None:
        super().__init__(source, batch_size)
        self.task = task
        self.given: TextRow | None = None  # the report whose finished rows are checked
        self.cases = 0
        self.made: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()
        self.not_made: Counter[tuple[str, str]] = Counter()

    def request(self) -> dict[str, Any]:
        request = super().request()
        return {name: request[name] for name in request if name not in ("encoding", "columns")}

    def summary(self) -> dict[str, Any]:
        not_made: dict[str, dict[str, int]] = {}
        for (edit, reason), count in sorted(self.not_made.items()):
            not_made.setdefault(edit, {})[reason] = count
        return {
            "input": self.source.description(),
            "reports": self.cases,
            "rows_with_errors": self.tally.failed_rows,
            "groups": dict(self.groups),
            "edits": dict(sorted(self.made.items())),
            "not_made": not_made,
            "errors": self.tally.errors(),
        }

    def _settings(self) -> dict[str, Any]:
        subject = self.task.subject
        return {
            "reader": self.task.reader.identity,
            "rules": rules_hash(),
            "settings": asdict(self.task.settings),
            "model": None if subject is None else subject.identity,
        }

    def _check(self, finished: PerturbedRow, rows: Iterator[TextRow], path: Path) -> int:
        """All rows of one report are checked against its one row of the input."""
        is_first = bool(finished.errors) or finished.edit == CONTROL
        if is_first:
            self.given = next(rows, None)
        if self.given is None or (finished.case or finished.id) != self.given.id:
            raise not_of_input(finished.case or finished.id, path)
        return int(is_first)

    def _add(self, row: PerturbedRow) -> None:
        """Count a row by its group and edit; of each report, the control says what is not made."""
        if row.errors or row.edit == CONTROL:
            super()._add(row)
        if not row.errors:
            self.cases += row.edit == CONTROL
            self.made[row.edit] += 1
            self.groups[row.group] += 1
            self.not_made.update(row.not_made.items())


def taken_along(source: TextSource) -> dict[int, dict[str, str]]:
    columns = [name for name in TAKEN_ALONG if name in source.table.columns]
    if not columns:
        return {}
    return {
        record.number: {
            name: str(record.values[name]) for name in columns if record.values.get(name)
        }
        for record in source.table.read(columns)
        if record.values is not None
    }
