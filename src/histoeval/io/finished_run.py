"""What kind of results lie in a folder or file, and whether the run that made them has finished."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

from histoeval.errors import InputError, OutputError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import (
    AGREEMENT,
    COMPARISON,
    EXPERIMENTS,
    SCORES,
    SCORES_FILES,
    TRUST,
    kind_among,
    wrong_folder,
)
from histoeval.io.store import ENDINGS, PACKED_ENDINGS, read_json

Kind = Literal["score", "judge", "trust", "agree", "compare", "extract", "experiment"]

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
    names = {each.name for each in path.iterdir()}
    there = {SCORES if name in SCORES_FILES else name for name in names}
    kind = _kind(path, names)
    if kind is None:
        raise wrong_folder(path, "holds no results that a report is made of", KNOWN)
    is_finished = {
        "agree": AGREEMENT in there,
        "compare": True,
        "experiment": bool(experiments_in(path)),
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


def _kind(folder: Path, names: set[str]) -> Kind | None:
    """The verb whose results lie in a folder, also where only its first files are there."""
    if (kind := kind_among(names, folder.resolve())) is not None:
        return cast(Kind, kind.name) if kind.name in get_args(Kind) else None
    if "run.json" in names:
        return "score"
    begun = any((folder / "scores" / name).is_file() for name in SCORES_FILES)
    return "agree" if begun else None


def experiments_in(folder: Path) -> list[str]:
    """The names of the tables of `experiment` that are in a folder."""
    return [name for name in EXPERIMENTS if (folder / f"{name}.json").is_file()]


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
        "resumes it and keeps the finished rows"
    )


def _extracted(path: Path) -> FinishedRun:
    meta = path.with_name(f"{path.name}.meta.json")
    if not path.name.lower().endswith(ENDINGS + PACKED_ENDINGS) or not meta.is_file():
        raise wrong_folder(path, "is not the results of a run", KNOWN)
    content = read_json(meta, path)
    summary = content.get("summary", {})
    if content.get("finished") and "entities" not in summary:
        raise InputError(f"{path} is not of `histoeval extract`; give {KNOWN}")
    return _finished(FinishedRun("extract", path), bool(content.get("finished")))
