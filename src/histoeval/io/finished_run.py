"""The finished run in a folder or file: what kind of results it is, and the texts it was made on.

`DIR/texts.jsonl` is kept beside the rows so that a page can show them. It has one line for each row
of the results, in the same order: `id`, and the texts by name (`reference` and `candidate`, or
`report`), null where the input had none. It is written just before the summary, so a finished run
has all of it. Where rows are compressed or in Parquet, it is `DIR/texts.jsonl.gz`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast, get_args

from histoeval.errors import InputError, OutputError
from histoeval.io.files import check_there
from histoeval.io.folder_kinds import (
    AGREEMENT,
    COMPARISON,
    KINDS,
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

KNOWN = (
    "a folder of `histoeval score`, `judge`, `trust`, `agree`, `compare` or `experiment`, or a "
    "file that `histoeval extract` has written"
)


class FinishedRun(NamedTuple):
    kind: Kind
    place: Path

    @property
    def folder(self) -> Path:
        return self.place if self.place.is_dir() else self.place.parent

    @property
    def name(self) -> str:
        return self.place.resolve().name

    def beside(self, ending: str) -> Path:
        """Return the path of its report: in its folder, or beside its file."""
        if self.place.is_dir():
            return self.place / f"report.{ending}"
        name = self.place.stem.removesuffix(".jsonl")
        return self.place.with_name(f"{name}.report.{ending}")


def finished_run(path: Path) -> FinishedRun:
    check_there(path)
    if path.name in (*SCORES_FILES, TRUST, AGREEMENT, COMPARISON) and path.is_file():
        path = path.parent
    if path.is_file():
        meta = path.with_name(f"{path.name}.meta.json")
        if not path.name.lower().endswith(ENDINGS + PACKED_ENDINGS) or not meta.is_file():
            raise wrong_folder(path, "is not the results of a run", KNOWN)
        content = read_json(meta, path)
        name, is_finished = "extract", bool(content.get("finished"))
        if is_finished and "entities" not in content.get("summary", {}):
            raise InputError(f"{path} is not of `histoeval extract`; give {KNOWN}")
    else:
        names = {SCORES if file.name in SCORES_FILES else file.name for file in path.iterdir()}
        kind = kind_among(names, path.resolve())
        name = "" if kind is None else kind.name
        if kind is None and "run.json" in names:  # of a run that has only begun
            name = "score"
        elif kind is None and any((path / "scores" / file).is_file() for file in SCORES_FILES):
            name = "agree"
        if name not in get_args(Kind):
            raise wrong_folder(path, "holds no results that a report is made of", KNOWN)
        is_finished = (KINDS[name].result or "summary.json") in names
        if name == "experiment":
            is_finished = bool(experiments_in(path))
    if not is_finished:
        verb = "score` or `judge" if name == "score" else name
        raise InputError(
            f"the run in {path} is not finished: run the same `{verb}` command again, which "
            "resumes it and keeps the finished rows"
        )
    if path.is_dir() and KINDS[name].rows:
        _demand_whole(path, name, names)
    return FinishedRun(cast("Kind", name), path)


def _demand_whole(folder: Path, name: str, names: Collection[str]) -> None:
    """Refuse a folder whose rows were removed, or whose summary is of another program."""
    kind, file = KINDS[name], folder / "summary.json"
    if kind.rows not in names:
        raise InputError(f"{folder / kind.rows} is missing: the rows of the run are gone")
    try:
        summary = read_json(file, folder)
    except OutputError as error:
        raise InputError(
            f"{file} is damaged, or of another program: run the same command again, or give {KNOWN}"
        ) from error
    keys = kind.summed_up or ()
    if missing_keys := [key for key in keys if not isinstance(summary.get(key), dict)]:
        raise InputError(
            f"{file} is damaged, or not of `histoeval {name}` "
            f"(missing: {', '.join(missing_keys)}); give {KNOWN}"
        )


def experiments_in(folder: Path) -> list[str]:
    """List the tables of `experiment` in a folder, in the order of a page."""
    *tables, _ = KINDS["experiment"].files
    return [Path(name).stem for name in tables if (folder / name).is_file()]


# --- the texts of a run ------------------------------------------------------------------------

T = TypeVar("T")

TEXTS = "texts.jsonl"
# Set this in the environment to 0 where results must not hold whole reports.
KEEP = "HISTOEVAL_KEEP_TEXTS"

RowTexts = Mapping[str, str | None]  # of one row: its id, and its texts by name


def write_texts(folder: Path, rows: Iterable[RowTexts], *, packed: bool = False) -> None:
    texts_file = None if os.environ.get(KEEP) == "0" else in_form(folder / TEXTS, FORMS[packed])
    with writing_to(folder):
        if texts_file is not None:
            with whole_lines(texts_file) as lines:
                for row in rows:
                    line = json.dumps(row, ensure_ascii=False) + "\n"
                    lines.write(line.encode("utf-8", "backslashreplace"))
        for file in (in_form(folder / TEXTS, form) for form in FORMS[:2]):
            if file != texts_file:
                remove(file)


def has_texts(folder: Path) -> bool:
    """True if a run has stored its texts; runs of earlier versions have not."""
    return stored_as(folder / TEXTS).is_file()


def read_texts(folder: Path) -> Iterator[dict[str, Any]]:
    return read_finished_lines(stored_as(folder / TEXTS), _texts)


def read_finished_lines(path: Path, read: Callable[[bytes], T]) -> Iterator[T]:
    """Read the rows of a run that is only looked at; errors do not advise to overwrite."""
    return read_lines(path, read, InputError, ": the run is damaged; run it again")


def _texts(line: bytes) -> dict[str, Any]:
    texts = json.loads(line)
    if not isinstance(texts, dict):
        raise ValueError("not the texts of a row")
    return texts


def beside(rows: Iterable[dict[str, Any]], folder: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield each row of a run with its texts, or with None if the run has none.

    Rows and texts have the same order, which is checked by their ids.
    """
    if not has_texts(folder):
        yield from ((row, None) for row in rows)
        return
    stored_texts = read_texts(folder)
    for row in rows:
        texts = next(stored_texts, None)
        if texts is None or texts.get("id") != row.get("id"):
            raise OutputError(
                f"{folder / TEXTS} does not fit the results beside it: run the same command again"
            )
        yield row, texts


# --- rows without texts --------------------------------------------------------------------------

NOT_KEPT = "not kept"  # in place of a message that may quote a report

# Keys whose values are names that we or the input gave, and no words of a report.
NAMES = frozenset(
    "id system code column metric dimension route kind part type assertion judge order "
    "verdict".split()
)

# The same in rows of trust, whose evidence is all ours.
TRUST_NAMES = NAMES | frozenset(
    "shows file image image_hash signature source attack policy cancer_check stated".split()
)

# What a page is made of beside rows.
ABOUT = ("run.json", "summary.json", "usage.json", "trust.jsonl.meta.json")

N = TypeVar("N", bound=Noun)


def without_texts(row: N) -> N:
    """Mask every word of a report in a row; positions, types, kinds and numbers remain.

    Words become as many asterisks, so that positions still fit.
    """
    return type(row).model_validate(_masked(row.model_dump(mode="json")))


def textless_copy(run: FinishedRun, folder: Path) -> FinishedRun:
    """Copy a run without any word of a report, and without pictures and patches."""
    if run.kind not in ("score", "judge", "trust", "extract"):
        raise InputError(f"a report of `histoeval {run.kind}` cannot be made without texts")
    is_folder = run.place.is_dir()
    target = folder / (run.name if is_folder else "run")
    make_folder(target)
    rows = stored_as(run.place / KINDS[run.kind].rows) if is_folder else run.place
    plain_name = (
        f"{rows.name.removesuffix('.gz').removesuffix('.parquet').removesuffix('.jsonl')}.jsonl"
    )
    copied_names = {name: name for name in ABOUT}
    if not is_folder:
        copied_names = {f"{rows.name}.meta.json": f"{plain_name}.meta.json"}
    for name, copied_name in copied_names.items():
        if (file := run.folder / name).is_file():
            text_setting = {"texts": False} if name == "summary.json" else {}
            write_json(
                target / copied_name, _masked_messages(read_json(file, run.folder) | text_setting)
            )
    lines = (json.dumps(_masked(row)) for row in read_finished_lines(rows, _texts))
    with whole_lines(target / plain_name) as stream:
        stream.writelines(f"{line}\n".encode() for line in lines)
    return run._replace(place=target if is_folder else target / plain_name)


def _masked_messages(content: dict[str, Any]) -> dict[str, Any]:
    """Mask the examples of errors in a summary, which may quote a report."""
    masked = {}
    for name, value in content.items():
        masked_value = _masked_messages(value) if isinstance(value, dict) else value
        masked[name] = NOT_KEPT if name == "example" else masked_value
    return masked


def _masked(row: dict[str, Any]) -> dict[str, Any]:
    names = TRUST_NAMES if "route" in row else NAMES

    def mask(value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            content = {name: mask(field, name) for name, field in value.items()}
            if "message" in value:
                content["message"] = str(value.get("kind", NOT_KEPT)).replace("_", " ")
            return content
        if isinstance(value, list):
            return [mask(item, key) for item in value]
        return "*" * len(value) if isinstance(value, str) and key not in names else value

    masked_row: dict[str, Any] = mask(row)
    if isinstance(evidence := masked_row.get("evidence"), dict):
        evidence.pop("pictures", None)  # they have claims in their names and drawn on them
    return masked_row
