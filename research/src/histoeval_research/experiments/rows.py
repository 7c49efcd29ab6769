"""A row of a perturbed set, as it is written and read again."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from histoeval.errors import InputError, Problem
from histoeval.io.tables.encoding import open_lines, survey
from histoeval.report import Noun
from histoeval_research.experiments.edits.source_report import Change

RULES, MODEL = "rules", "model"
"""Who made an edit."""


class PerturbedRow(Noun):
    """One report of a perturbed set, or the reasons why its row of the input has none.

    `case` is the id of the true report, `reference` its text, and `patient` of whom it is, where
    that is known: reports of one patient are drawn together for intervals. On the control
    stands what could not be made of it, and why. `report_augmented` and `report_attacked` are as
    `trust` takes them.
    """

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
        """The length of the report."""
        return len(self.report or "")

    @property
    def cluster(self) -> str:
        """What is drawn as one for intervals."""
        return self.patient or self.case

    def line(self) -> bytes:
        """The row as one line of JSON; what is empty is omitted."""
        content = self.model_dump(mode="json", exclude_defaults=True)
        if not self.errors:
            content = {"id": self.id, "case": self.case, "level": self.level} | content
        else:
            content["errors"] = [
                {"code": e.code, "message": e.message, "column": e.column} for e in self.errors
            ]
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"


class PerturbedSet(NamedTuple):
    """A perturbed set as the input of a run."""

    path: Path
    reports: Sequence[PerturbedRow]

    def rows(self) -> Iterator[PerturbedRow]:
        """Its reports."""
        return iter(self.reports)

    def identity(self) -> dict[str, Any]:
        """Its name and hash."""
        return {"input": self.path.name, "sha256": survey(self.path, "utf-8").sha256}

    def description(self) -> str:
        """Its name."""
        return self.path.name


def read_perturbed(path: Path) -> list[PerturbedRow]:
    """The reports of a perturbed set; rows that had errors are skipped."""
    rows: list[PerturbedRow] = []
    with open_lines(path, survey(path, "utf-8").encoding) as lines:
        for line in lines:
            if not line.isspace():
                rows.append(_row(line, f"{path}, line {lines.number}"))
    kept = [row for row in rows if not row.errors]
    if not kept:
        raise InputError(
            f"{path} holds no perturbed report; `histoeval experiment perturb` makes them"
        )
    twice = [name for name, count in Counter(row.id for row in kept).items() if count > 1]
    if twice:
        raise InputError(f"{path} has the id {twice[0]!r} twice")
    return kept


def _row(line: str, where: str) -> PerturbedRow:
    try:
        row = PerturbedRow.model_validate_json(line)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "the line"
        raise InputError(
            f"{where} is no row of a set as `histoeval experiment perturb` writes it: {place}: "
            f"{fault['msg']}"
        ) from error
    if not row.errors and not (row.report and row.reference and row.case and row.group):
        raise InputError(f"{where}: a row needs case, group, report and reference")
    return row
