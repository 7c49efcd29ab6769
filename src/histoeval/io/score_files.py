"""Scores that `histoeval score` has written, read back: by metric, and then by pair."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from histoeval.errors import InputError, OutputError
from histoeval.io.files import check_there
from histoeval.io.results import ResultRow, read_json, read_lines

Key = tuple[str, str]
"""The id of a pair and the system that wrote its candidate."""


@dataclass(frozen=True)
class ScoredMetric:
    """The numbers of one metric, and what `summary.json` says of it."""

    values: dict[Key, float] = field(default_factory=dict)
    signature: str = ""
    range: tuple[float, float] | None = None
    higher_is_better: bool = True


def key_of(row: ResultRow) -> Key:
    """What a row of results is known by."""
    return row.id, row.system or ""


def read_rows(path: Path) -> Iterator[ResultRow]:
    """The rows of a file of results, or of the folder that holds it."""
    check_there(path)
    file = path / "scores.jsonl" if path.is_dir() else path
    check_there(file)
    found = False
    for row in _rows(file):
        found = True
        yield row
    if not found:
        raise InputError(f"{file} has no rows")


def _rows(file: Path) -> Iterator[ResultRow]:
    try:
        yield from read_lines(file, ResultRow.model_validate_json)
    except OutputError as error:
        told = str(error).partition(";")[0]
        raise InputError(f"{told}: `histoeval score … --output DIR` writes such a file") from error


def read_summary(path: Path) -> Mapping[str, Any]:
    """What the summary beside a file of results says of its metrics; nothing if there is none."""
    folder = path if path.is_dir() else path.parent
    file = folder / "summary.json"
    metrics = read_json(file, folder).get("metrics", {}) if file.is_file() else {}
    return metrics if isinstance(metrics, dict) else {}


def read_scored(path: Path) -> dict[str, ScoredMetric]:
    """Every metric of a file of results, by name."""
    return gather(read_rows(path), read_summary(path))


def gather(rows: Iterator[ResultRow], told: Mapping[str, Any]) -> dict[str, ScoredMetric]:
    """The scores of rows, by metric."""
    found: dict[str, ScoredMetric] = {
        name: ScoredMetric(
            signature=about["signature"],
            range=_range(about["range"]),
            higher_is_better=about["higher_is_better"],
        )
        for name, about in told.items()
    }
    for row in rows:
        for name, result in row.scores.items():
            found.setdefault(name, ScoredMetric()).values[key_of(row)] = result.value
    return found


def _range(bounds: Any) -> tuple[float, float] | None:
    low, high = bounds
    return None if low is None or high is None else (float(low), float(high))
