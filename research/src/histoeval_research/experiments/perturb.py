"""A perturbed set from a table of true reports."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, Problem, did_you_mean
from histoeval.io.reports import TextRow, TextSource
from histoeval.io.store import RowStore, not_of_input
from histoeval.io.writing import write_whole
from histoeval.reader.reader import Reader
from histoeval.report import Noun
from histoeval.run.engines.engine import Task
from histoeval.run.extract import read_failed
from histoeval.run.pipeline import Job, Watch, answers, no_progress
from histoeval.vlm.model import Vlm
from histoeval_research.experiments.edits.registry import (
    CONTROL,
    EditedReport,
    Rewritten,
    SkippedEdit,
    groups,
    perturb,
    rewrite,
    rewritten_groups,
    rules_hash,
)
from histoeval_research.experiments.measures import MODEL, RULES, PerturbedRow

IMAGE, PATIENT = "image", "patient"
"""Columns that are taken along where a table has them."""


class Settings(Noun):
    """What is made of every report."""

    seed: int = 0
    each: int | None = 1
    """Edits of every group by rule; all that can be made where it is None."""
    groups: tuple[str, ...] | None = None
    answers: bool = False
    """Whether the true report stands in for the model's answers under stain and attack."""


def perturb_file(
    source: TextSource,
    reader: Reader,
    output: Path,
    settings: Settings,
    *,
    subject: Vlm | None = None,
    overwrite: bool = False,
    batch_size: int = 32,
    watch: Watch = no_progress,
) -> dict[str, Any]:
    """Write the perturbed set of a table with id, report and maybe image; its summary."""
    _demand_groups(settings)
    job = PerturbJob(source, reader, settings, subject, batch_size)
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
    """Edited versions of reports, by rule and where there is one by a model."""

    name = "perturb"

    def __init__(
        self,
        reader: Reader,
        settings: Settings,
        subject: Vlm | None,
        along: Mapping[int, Mapping[str, str]],
    ) -> None:
        self.reader = reader
        self.settings = settings
        self.subject = subject
        self.along = along

    def work(self, rows: Sequence[TextRow]) -> list[PerturbedRow]:
        """Everything that is made of each report."""
        texts = [row.text for row in rows if row.text is not None]
        read = iter(answers(self.reader.read, texts, read_failed))
        chosen = [g for g in rewritten_groups() if g in (self.settings.groups or groups())]
        nothing: list[Rewritten] = [([], [])] * len(texts)
        written = iter(nothing if self.subject is None else rewrite(self.subject, texts, chosen))
        found: list[PerturbedRow] = []
        for row in rows:
            if row.text is None:
                found.append(PerturbedRow(id=row.id, row=row.number, errors=row.problems))
                continue
            report, (also, not_also) = next(read), next(written)
            if isinstance(report, Problem):
                found.append(PerturbedRow(id=row.id, row=row.number, errors=(report,)))
                continue
            made, skipped = perturb(
                report,
                row.id,
                seed=self.settings.seed,
                chosen=self.settings.groups,
                each=self.settings.each,
            )
            common = {"case": row.id, "reference": row.text, **self.along.get(row.number, {})}
            if self.settings.answers:
                common |= {"report_augmented": row.text, "report_attacked": row.text}
            found += _rows(common, made, also, [*skipped, *not_also])
        return found

    def failed(self, row: TextRow, problem: Problem) -> PerturbedRow:
        """A report of which nothing was made."""
        return PerturbedRow(id=row.id, row=row.number, errors=(problem,))


class PerturbJob(Job[TextRow, PerturbedRow]):
    """Edited versions of every report, by rule and where there is one by a model."""

    block_characters = 200_000

    def __init__(
        self,
        source: TextSource,
        reader: Reader,
        settings: Settings,
        subject: Vlm | None,
        batch_size: int,
    ) -> None:
        super().__init__(source, batch_size)
        self.reader = reader
        self.settings = settings
        self.subject = subject
        self.task = PerturbTask(reader, settings, subject, taken_along(source))
        self.given: TextRow | None = None
        """The report whose finished rows are checked."""
        self.cases = 0
        self.made: Counter[str] = Counter()
        self.groups: Counter[str] = Counter()
        self.not_made: Counter[tuple[str, str]] = Counter()

    def request(self) -> dict[str, Any]:
        """The input, the reader, the rules and the model."""
        request = super().request()
        return {name: request[name] for name in request if name not in ("encoding", "columns")}

    def summary(self) -> dict[str, Any]:
        """How many rows there are of each group and edit, what could not be made, all errors."""
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
        return {
            "reader": self.reader.identity,
            "rules": rules_hash(),
            "settings": self.settings.model_dump(mode="json"),
            "model": None if self.subject is None else self.subject.identity,
        }

    def _check(self, found: PerturbedRow, rows: Iterator[TextRow], path: Path) -> int:
        """All rows of one report are checked against its one row of the input."""
        is_first = bool(found.errors) or found.edit == CONTROL
        if is_first:
            self.given = next(rows, None)
        if self.given is None or (found.case or found.id) != self.given.id:
            raise not_of_input(found.case or found.id, path)
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


def _demand_groups(settings: Settings) -> None:
    unknown = set(settings.groups or ()) - set(groups())
    if unknown:
        guess = did_you_mean(min(unknown), groups())
        raise InputError(f"there is no group {min(unknown)!r}{guess}; known: {', '.join(groups())}")


def taken_along(source: TextSource) -> dict[int, dict[str, str]]:
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
