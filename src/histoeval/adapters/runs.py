"""A finished run for experiment trackers: settings, numbers, rows, and texts on request.

Reports are health data. Without `texts`, what is given here has ids, systems, scores, signatures,
kinds and severities of errors, and codes of problems: no report, no quotation, no message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from histoeval.io.finished_run import FinishedRun, beside, finished_run
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.results import ResultFolder
from histoeval.io.store import read_json
from histoeval.pathgls.policy.policy import DIMENSIONS
from histoeval.run.trust.rows import TrustFolder


@dataclass(frozen=True)
class TrackedRun:
    """A run of `score`, `judge` or `trust`, ready to be logged."""

    name: str
    settings: dict[str, str]  # input, versions and signatures: the numbers depend on them
    numbers: dict[str, float]  # by ``metric/what/system``, as in ``concordance/mean/model_a``
    rows: list[dict[str, Any]]
    files: tuple[Path, ...] = ()  # the files of the run, where texts were asked for

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows by column, with None for missing cells."""
        names = dict.fromkeys(name for row in self.rows for name in row)
        return {name: [row.get(name) for row in self.rows] for name in names}


def read_run(folder: str | Path, *, rows: bool = True, texts: bool = False) -> TrackedRun:
    """Read the folder of a finished run.

    Args:
        folder: of `score`, `judge` or `trust`.
        rows: whether a row for each pair or report is wanted, with its id.
        texts: whether report texts, evidence and messages are wanted as well.
    """
    run = finished_run(Path(folder))
    if run.kind not in ("score", "judge", "trust"):
        raise wrong_folder(
            run.place, f"is of `{run.kind}`", "a folder of `score`, `judge` or `trust`"
        )
    summary = read_json(run.place / "summary.json", run.place)
    source = summary["input"]
    settings = {
        "histoeval": summary["histoeval"],
        "verb": run.kind,
        "input": source["name"],
        "input_sha256": source["sha256"],
        "rows": summary["rows"],
    }
    for name, metric in summary.get("metrics", {}).items():
        settings[f"signature/{name}"] = metric["signature"]
    if run.kind == "trust":
        numbers = {f"{name}/mean": mean for name, mean in summary["means"].items()}
        numbers |= {f"route/{name}": count for name, count in summary["routes"].items()}
    else:
        numbers = _score_numbers(summary)
    files = [file for file in run.place.iterdir() if file.is_file() and file.name[0] != "."]
    return TrackedRun(
        name=run.name,
        settings={name: str(value) for name, value in settings.items()},
        numbers={name: float(value) for name, value in numbers.items() if value is not None},
        rows=list(_rows(run, texts)) if rows else [],
        files=tuple(sorted(files)) if texts else (),
    )


def _score_numbers(summary: Mapping[str, Any]) -> dict[str, float | None]:
    numbers: dict[str, float | None] = {"rows_with_errors": summary["rows_with_errors"]}
    for name, metric in summary["metrics"].items():
        for system, totals in metric["systems"].items():
            for total in ("mean", "corpus", "coverage"):
                numbers[f"{name}/{total}/{system}"] = totals[total]
            for part, mean in totals["parts"].items():
                numbers[f"{name}.{part}/mean/{system}"] = mean
            errors = totals.get("report_errors", {}).get("by_severity", {})
            numbers |= {f"{name}/{kind}_errors/{system}": count for kind, count in errors.items()}
    return numbers


def _rows(run: FinishedRun, texts: bool) -> Iterator[dict[str, Any]]:
    folder = TrustFolder(run.place) if run.kind == "trust" else ResultFolder(run.place)
    stored = (row.model_dump(mode="json") for row in folder)
    for row, row_texts in beside(stored, run.place) if texts else ((row, None) for row in stored):
        cells = {name: row[name] for name in _COLUMNS if name in row}
        for name, result in row.get("scores", {}).items():
            cells[name] = result["value"]
            cells |= {f"{name}.{part}": value for part, value in result["parts"].items()}
            if errors := result["evidence"].get("errors"):
                cells[f"{name}.errors"] = error_kinds(errors)
        problems = [  # their messages may quote a report
            f"{problem['code']}: {problem['message']}" if texts else problem["code"]
            for problem in row["errors"]
        ]
        if problems:
            cells["problems"] = "; ".join(problems)
        yield cells | {name: text for name, text in (row_texts or {}).items() if name != "id"}


_COLUMNS = ("id", "system", *DIMENSIONS, "trust", "cancer_check", "route")


def error_kinds(errors: Any) -> str:
    """The number of errors of each kind and severity, without what was quoted."""
    kinds = Counter(
        f"{error.get('kind', 'error')} (severity {error.get('severity', '?')})"
        for error in errors
        if isinstance(error, Mapping)
    )
    return ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in kinds.items())
