"""What kind of results lie in a folder or file, and whether the run that made them has finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple

from histoeval.errors import InputError, OutputError
from histoeval.io.files import check_there
from histoeval.io.row_files import all_forms
from histoeval.io.store import ENDINGS, PACKED_ENDINGS, read_json

Kind = Literal["score", "judge", "trust", "agree", "compare", "extract", "experiment"]

SCORES, TRUST, AGREEMENT, COMPARISON = (
    "scores.jsonl",
    "trust.jsonl",
    "agreement.json",
    "comparison.json",
)
SCORES_FILES = tuple(each.name for each in all_forms(Path(SCORES)))
"""The names of a file of scores, whatever its form."""

EXPERIMENTS = ("table1", "table2", "table3", "figure3a", "figure3b", "hierarchy")
"""What `experiment` calls its tables, in the order of a page."""

ROWS: dict[Kind, str] = {"score": SCORES, "judge": SCORES, "trust": TRUST}
SUMMED_UP: dict[Kind, tuple[str, ...]] = {
    "score": ("input", "metrics"),
    "judge": ("input", "metrics"),
    "trust": ("input", "routes"),
}
"""What the summary of each kind says; a file of the same name without it is another program's."""

KNOWN = (
    "a folder of `histoeval score`, `judge`, `trust`, `agree`, `compare` or `experiment`, or a "
    "file that `histoeval extract` has written"
)


class FinishedRun(NamedTuple):
    """The results of a run: what they are of, and where."""

    kind: Kind
    place: Path

    @property
    def folder(self) -> Path:
        """Where files about the run are written."""
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def name(self) -> str:
        """What the run is called where its folder says nothing more."""
        return self.place.resolve().name

    def beside(self, ending: str) -> Path:
        """Where its report is written: in its folder, or beside its file."""
        if self.place.is_dir():
            return self.place / f"report.{ending}"
        name = self.place.stem.removesuffix(".jsonl")
        return self.place.with_name(f"{name}.report.{ending}")


def finished_run(path: Path) -> FinishedRun:
    """The finished run of a folder or file; an error says what is there instead."""
    check_there(path)
    if path.name in (*SCORES_FILES, TRUST, AGREEMENT, COMPARISON) and path.is_file():
        path = path.parent
    if path.is_file():
        return _extracted(path)
    there = {SCORES if (name := each.name) in SCORES_FILES else name for each in path.iterdir()}
    kind = _kind(path, there)
    if kind is None:
        raise InputError(f"{path} holds no results that a report is made of; give {KNOWN}")
    is_finished = {
        "agree": AGREEMENT in there,
        "compare": True,
        "experiment": True,
    }.get(kind, "summary.json" in there)
    run = _finished(FinishedRun(kind, path), is_finished)
    _check_whole(run, there)
    return run


def _check_whole(run: FinishedRun, there: set[str]) -> None:
    """Refuse a folder whose rows were removed, or whose summary is of another program."""
    if run.kind not in ROWS:
        return
    if ROWS[run.kind] not in there:
        raise InputError(f"{run.place / ROWS[run.kind]} is missing: the rows of the run are gone")
    summary = _summary(run.place)
    if absent := [name for name in SUMMED_UP[run.kind] if not isinstance(summary.get(name), dict)]:
        raise InputError(
            f"{run.place / 'summary.json'} is damaged, or not of `histoeval {run.kind}` "
            f"(missing: {', '.join(absent)}); give {KNOWN}"
        )


def _kind(folder: Path, there: set[str]) -> Kind | None:
    """What made the files in a folder."""
    if SCORES in there or "run.json" in there:
        return _scoring(folder, there)
    known: dict[Kind, bool] = {
        "trust": TRUST in there,
        "agree": AGREEMENT in there
        or any((folder / "scores" / name).is_file() for name in SCORES_FILES),
        "compare": COMPARISON in there,
        "experiment": bool(experiments_in(folder)),
    }
    return next((kind for kind, is_it in known.items() if is_it), None)


def experiments_in(folder: Path) -> list[str]:
    """The names of the tables of `experiment` that are in a folder."""
    return [name for name in EXPERIMENTS if (folder / f"{name}.json").is_file()]


def _scoring(folder: Path, there: set[str]) -> Kind:
    """Whether scores are of judges, as only a finished run says."""
    is_judge = "summary.json" in there and "judge" in _summary(folder)
    return "judge" if is_judge else "score"


def _summary(folder: Path) -> dict[str, Any]:
    try:
        return read_json(folder / "summary.json", folder)
    except OutputError as error:
        raise InputError(
            f"{folder / 'summary.json'} is damaged, or of another program: run the same command "
            f"again, or give {KNOWN}"
        ) from error


def _finished(run: FinishedRun, is_finished: bool) -> FinishedRun:
    if is_finished:
        return run
    verb = "score` or `judge" if run.kind == "score" else run.kind
    raise InputError(
        f"the run in {run.place} is not finished: run the same `{verb}` command again, which "
        "resumes it and keeps the finished rows; then make the report"
    )


def _extracted(path: Path) -> FinishedRun:
    meta = path.with_name(f"{path.name}.meta.json")
    if not path.name.lower().endswith(ENDINGS + PACKED_ENDINGS) or not meta.is_file():
        raise InputError(f"{path} is not the results of a run; give {KNOWN}")
    content = read_json(meta, path)
    summary = content.get("summary", {})
    if content.get("finished") and "entities" not in summary:
        raise InputError(f"{path} is not of `histoeval extract`; give {KNOWN}")
    return _finished(FinishedRun("extract", path), bool(content.get("finished")))
