"""The finished run in a folder or file: what kind of results it is, and the texts it was made on.

`DIR/texts.jsonl` is kept beside the rows so that a page can show them. It has one line for each row
of the results, in the same order: `id`, and the texts by name (`reference` and `candidate`, or
`report`), null where the input had none. It is written just before the summary, so a finished run
has all of it. Where rows are compressed or in Parquet, it is `DIR/texts.jsonl.gz`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

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
from histoeval.io.row_files import FORMS, in_form, stored_as, whole_lines
from histoeval.io.store import ENDINGS, PACKED_ENDINGS, read_json, read_lines
from histoeval.io.writing import make_folder, remove, write_json, writing_to
from histoeval.report import Noun

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
    if kind in ROWS:
        _check_whole(path, kind, there)
    return run


def _check_whole(folder: Path, kind: Kind, there: set[str]) -> None:
    """Refuse a folder whose rows were removed, or whose summary is of another program."""
    if ROWS[kind] not in there:
        raise InputError(f"{folder / ROWS[kind]} is missing: the rows of the run are gone")
    file = folder / "summary.json"
    try:
        summary = read_json(file, folder)
    except OutputError as error:
        raise InputError(
            f"{file} is damaged, or of another program: run the same command again, or give {KNOWN}"
        ) from error
    if absent := [name for name in SUMMED_UP[kind] if not isinstance(summary.get(name), dict)]:
        raise InputError(
            f"{file} is damaged, or not of `histoeval {kind}` "
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


# --- the texts of a run ------------------------------------------------------------------------

T = TypeVar("T")

TEXTS = "texts.jsonl"
KEEP = "HISTOEVAL_KEEP_TEXTS"
"""Set this in the environment to 0 where results must not hold whole reports."""

RowTexts = Mapping[str, str | None]
"""Of one row: its id, and its texts by name."""


def write_texts(folder: Path, rows: Iterable[RowTexts], *, packed: bool = False) -> None:
    """Write the texts of all rows of a run, in their order, unless they are not to be kept."""
    kept = None if os.environ.get(KEEP) == "0" else in_form(folder / TEXTS, FORMS[packed])
    with writing_to(folder):
        if kept is not None:
            with whole_lines(kept) as file:
                for row in rows:
                    line = json.dumps(row, ensure_ascii=False) + "\n"
                    file.write(line.encode("utf-8", "backslashreplace"))
        for other in (in_form(folder / TEXTS, form) for form in FORMS[:2]):
            if other != kept:
                remove(other)


def has_texts(folder: Path) -> bool:
    """True if a run has its texts beside it; runs of earlier versions have not."""
    return stored_as(folder / TEXTS).is_file()


def read_texts(folder: Path) -> Iterator[dict[str, Any]]:
    """The texts of all rows of a run, in their order."""
    return read_finished_lines(stored_as(folder / TEXTS), _texts)


def read_finished_lines(path: Path, read: Callable[[bytes], T]) -> Iterator[T]:
    """The rows of a run that is only looked at: nothing of it is to be overwritten."""
    return read_lines(path, read, InputError, ": the run is damaged; run it again")


def _texts(line: bytes) -> dict[str, Any]:
    texts = json.loads(line)
    if not isinstance(texts, dict):
        raise ValueError("not the texts of a row")
    return texts


def beside(rows: Iterable[dict[str, Any]], folder: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Each row of a run with its texts; with None where the run has none.

    Rows and texts are of one order, which is checked by their ids.
    """
    if not has_texts(folder):
        yield from ((row, None) for row in rows)
        return
    texts = read_texts(folder)
    for row in rows:
        found = next(texts, None)
        if found is None or found.get("id") != row.get("id"):
            raise OutputError(
                f"{folder / TEXTS} does not fit the results beside it: run the same command again"
            )
        yield row, found


# --- rows without texts --------------------------------------------------------------------------

NOT_KEPT = "not kept"
"""In place of a message that may quote a report."""

NAMES = frozenset(
    "id system code column metric dimension route kind part type assertion judge order "
    "verdict".split()
)
"""Keys whose values are names that we or the input gave, and no words of a report."""

TRUST_NAMES = NAMES | frozenset(
    "shows file image image_hash signature source attack policy cancer_check stated".split()
)
"""The same in rows of trust, whose evidence is all ours."""

ABOUT = ("run.json", "summary.json", "usage.json", "trust.jsonl.meta.json")
"""What a page is made of beside rows."""

N = TypeVar("N", bound=Noun)


def without_texts(row: N) -> N:
    """A row of results without any word of a report: places, types, kinds and numbers remain.

    Words become as many asterisks, so that places still fit.
    """
    return type(row).model_validate(_masked(row.model_dump(mode="json")))


def textless_copy(run: FinishedRun, folder: Path) -> FinishedRun:
    """A copy of a run in a folder, without any word of a report; without pictures and patches."""
    if run.kind not in ("score", "judge", "trust", "extract"):
        raise InputError(f"a report of `histoeval {run.kind}` cannot be made without texts")
    place = folder / (run.name if run.place.is_dir() else "run")
    make_folder(place)
    about = (
        [run.place / name for name in ABOUT]
        if run.place.is_dir()
        else [Path(f"{run.place}.meta.json")]
    )
    for file in about:
        if file.is_file():
            more = {"texts": False} if file.name == "summary.json" else {}
            content = read_json(file, run.folder) | more
            write_json(place / file.name, _masked_messages(content))
    rows = stored_as(run.place / ROWS[run.kind]) if run.place.is_dir() else run.place
    lines = (json.dumps(_masked(row)) for row in read_finished_lines(rows, _texts))
    plain = f"{rows.name.removesuffix('.gz').removesuffix('.parquet').removesuffix('.jsonl')}.jsonl"
    with whole_lines(place / plain) as written:
        written.writelines(f"{line}\n".encode() for line in lines)
    if not run.place.is_dir():
        (place / f"{rows.name}.meta.json").replace(place / f"{plain}.meta.json")
        return run._replace(place=place / plain)
    return run._replace(place=place)


def _masked_messages(content: dict[str, Any]) -> dict[str, Any]:
    """A summary without the examples of errors, which may quote a report."""
    return {
        name: NOT_KEPT
        if name == "example"
        else _masked_messages(each)
        if isinstance(each, dict)
        else each
        for name, each in content.items()
    }


def _masked(row: dict[str, Any]) -> dict[str, Any]:
    names = TRUST_NAMES if "route" in row else NAMES

    def masked(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            found = {name: masked(each, name) for name, each in value.items()}
            if "message" in value:
                found["message"] = str(value.get("kind", NOT_KEPT)).replace("_", " ")
            return found
        if isinstance(value, list):
            return [masked(each, key) for each in value]
        return "*" * len(value) if isinstance(value, str) and key not in names else value

    content: dict[str, Any] = masked(row)
    if isinstance(evidence := content.get("evidence"), dict):
        evidence.pop("pictures", None)  # they have claims in their names and drawn on them
    return content
