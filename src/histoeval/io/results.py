"""The rows that `score` and `extract` write, and scores read back: by metric, and then by pair."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import Field

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import SCORES, folder_kind, wrong_folder
from histoeval.io.row_files import FORMS, stored_as
from histoeval.io.store import RowStore, read_json, read_lines
from histoeval.metric import Evidence, FrozenDict, Numbers, Score
from histoeval.report import Noun, Report

Key = tuple[str, str]  # the id of a pair and the system that wrote its candidate


class MetricResult(Noun):
    value: float
    parts: Numbers = FrozenDict()
    evidence: Evidence = FrozenDict()
    counts: tuple[float, ...] = ()

    @classmethod
    def of(cls, score: Score) -> MetricResult:
        """Convert a score without its signature, which is in the summary."""
        return cls.model_construct(
            value=score.value, parts=score.parts, evidence=score.evidence, counts=score.counts
        )


class ResultRow(Noun):
    id: str
    system: str | None
    row: int
    scores: dict[str, MetricResult] = Field(default_factory=dict)
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        return self.model_dump_json().encode() + b"\n"


class ResultFolder(RowStore[ResultRow]):
    def __init__(self, path: Path, form: str | None = None) -> None:
        if form not in (None, *FORMS):
            raise SettingError(
                f"rows cannot be written as {form!r}; choose one of {', '.join(FORMS)}"
            )
        read_row, verb = ResultRow.model_validate_json, "score or judge"
        super().__init__(path, read_row, folder=SCORES, verb=verb, form=form)


def result_folder(output: str | Path | None, form: str | None) -> ResultFolder | None:
    """Return the folder of the results; None if they stay in memory."""
    if output is None and form is not None:
        raise SettingError(
            f"a form of rows needs a folder for them: give {argument('output', 'DIR')}"
        )
    return None if output is None else ResultFolder(Path(output), form)


def broken_row(name: str, row: int | None, errors: Iterable[Problem]) -> dict[str, Any]:
    problems = [
        {"code": error.code, "message": error.message, "column": error.column} for error in errors
    ]
    return {"id": name, "row": row, "errors": problems}


class ReadRow(Noun):
    """One text with its report as read, or the reasons why there is none; never both."""

    id: str
    report: Report | None = None
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        if self.report is None:
            content: dict[str, Any] = broken_row(self.id, self.row, self.errors)
        else:
            content = {"id": self.id, **self.report.model_dump(mode="json")}
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> ReadRow:
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError("a row is an object")
        if "errors" in content:
            return cls.model_validate(content)
        name = content.pop("id", None)
        return cls(id=name, report=Report.model_validate(content))


@dataclass(frozen=True)
class ScoredMetric:
    values: dict[Key, float] = field(default_factory=dict)
    signature: str = ""
    range: tuple[float, float] | None = None
    higher_is_better: bool = True


def key_of(row: ResultRow) -> Key:
    return row.id, row.system or ""


def scores_file(path: Path) -> Path:
    """Return a file of results, or the one in a folder, whatever its form."""
    return stored_as(path / SCORES) if path.is_dir() else path


def read_rows(path: Path) -> Iterator[ResultRow]:
    check_there(path)
    file, kind = scores_file(path), folder_kind(path)
    if not file.exists() or (kind is not None and kind.name not in ("score", "judge")):
        raise wrong_folder(path, "holds no scores", "a folder of `histoeval score` or `judge`")
    check_there(file)
    advice = ": `histoeval score … --output DIR` writes such a file"
    rows = read_lines(file, ResultRow.model_validate_json, InputError, advice)
    if (first_row := next(rows, None)) is None:
        raise InputError(f"{file} has no rows")
    yield first_row
    yield from rows


def read_summary(path: Path) -> Mapping[str, Any]:
    """Read the metrics in the summary beside a file of results; empty without a summary."""
    folder = path if path.is_dir() else path.parent
    file = folder / "summary.json"
    metrics = read_json(file, folder).get("metrics", {}) if file.is_file() else {}
    return metrics if isinstance(metrics, dict) else {}


def read_scored(path: Path) -> dict[str, ScoredMetric]:
    return gather(read_rows(path), read_summary(path))


def gather(rows: Iterable[ResultRow], about: Mapping[str, Any]) -> dict[str, ScoredMetric]:
    """Group the scores of rows by metric, with the details of a summary."""
    metrics: dict[str, ScoredMetric] = {}
    for name, entry in about.items():
        try:
            low, high = entry["range"]
            bounds = None if low is None or high is None else (float(low), float(high))
            is_higher_better = entry["higher_is_better"]
            metrics[name] = ScoredMetric({}, entry["signature"], bounds, is_higher_better)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                "summary.json is damaged: it does not say signature, range and higher_is_better "
                f"of {name!r}; score the reports again"
            ) from error
    for row in rows:
        for name, result in row.scores.items():
            metrics.setdefault(name, ScoredMetric()).values[key_of(row)] = result.value
    return metrics
