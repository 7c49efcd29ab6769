"""A finished run as trackers take it: settings, numbers, and a table of rows; texts on request.

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
    settings: dict[str, str]
    """What the numbers depend on: input, versions, signatures."""
    numbers: dict[str, float]
    """By ``metric/what/system``, as in ``concordance/mean/model_a``."""
    rows: list[dict[str, Any]]
    files: tuple[Path, ...] = ()
    """The files of the run, where texts were asked for."""

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The rows, column by column; a cell is None where a row has nothing."""
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
    found = _verdicts(run, texts) if run.kind == "trust" else _scores(run, texts)
    return TrackedRun(
        name=run.name,
        settings=_settings(run, summary),
        numbers=_trust_numbers(summary) if run.kind == "trust" else _score_numbers(summary),
        rows=list(found) if rows else [],
        files=tuple(sorted(each for each in run.place.iterdir() if _is_of_run(each)))
        if texts
        else (),
    )


def _is_of_run(path: Path) -> bool:
    return path.is_file() and not path.name.startswith(".")


def _settings(run: FinishedRun, summary: Mapping[str, Any]) -> dict[str, str]:
    about = summary["input"]
    found = {
        "histoeval": summary["histoeval"],
        "verb": run.kind,
        "input": about["name"],
        "input_sha256": about["sha256"],
        "rows": summary["rows"],
    }
    for name, metric in summary.get("metrics", {}).items():
        found[f"signature/{name}"] = metric["signature"]
    return {name: str(value) for name, value in found.items()}


def _score_numbers(summary: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float | None] = {"rows_with_errors": summary["rows_with_errors"]}
    for name, metric in summary["metrics"].items():
        for system, totals in metric["systems"].items():
            found |= {f"{name}/{what}/{system}": totals[what] for what in _TOTALS}
            found |= {
                f"{name}.{part}/mean/{system}": mean for part, mean in totals["parts"].items()
            }
            errors = totals.get("report_errors", {}).get("by_severity", {})
            found |= {f"{name}/{kind}_errors/{system}": count for kind, count in errors.items()}
    return {name: float(value) for name, value in found.items() if value is not None}


_TOTALS = ("mean", "corpus", "coverage")


def _trust_numbers(summary: Mapping[str, Any]) -> dict[str, float]:
    means = {f"{name}/mean": value for name, value in summary["means"].items()}
    routes = {f"route/{name}": count for name, count in summary["routes"].items()}
    return {name: float(value) for name, value in (means | routes).items() if value is not None}


def _scores(run: FinishedRun, texts: bool) -> Iterator[dict[str, Any]]:
    stored = (row.model_dump() for row in ResultFolder(run.place))
    for row, said in beside(stored, run.place) if texts else ((row, None) for row in stored):
        found: dict[str, Any] = {"id": row["id"], "system": row["system"]}
        for name, result in row["scores"].items():
            found[name] = result["value"]
            found |= {f"{name}.{part}": value for part, value in result["parts"].items()}
            if errors := result["evidence"].get("errors"):
                found[f"{name}.errors"] = error_kinds(errors)
        yield found | _problems(row["errors"], texts) | _texts(said)


def error_kinds(errors: Any) -> str:
    """How often each kind of error is listed, with its severity, without what was quoted."""
    named = Counter(
        f"{each.get('kind', 'error')} (severity {each.get('severity', '?')})"
        for each in errors
        if isinstance(each, Mapping)
    )
    return ", ".join(f"{count} x {name}" if count > 1 else name for name, count in named.items())


def _verdicts(run: FinishedRun, texts: bool) -> Iterator[dict[str, Any]]:
    stored = (row.model_dump(mode="json") for row in TrustFolder(run.place))
    for row, said in beside(stored, run.place) if texts else ((row, None) for row in stored):
        found = {name: row[name] for name in ("id", *DIMENSIONS, "trust", "cancer_check", "route")}
        yield found | _problems(row["errors"], texts) | _texts(said)


def _problems(errors: Any, texts: bool) -> dict[str, str]:
    """The codes of problems; their messages may quote a report."""
    said = [f"{each['code']}: {each['message']}" if texts else each["code"] for each in errors]
    return {"problems": "; ".join(said)} if said else {}


def _texts(said: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: text for name, text in (said or {}).items() if name != "id"}
