"""The folders that HistoEval writes: the file that identifies each, and the verb that reads it."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fnmatch import filter as matching
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError
from histoeval.resources import load_toml

SCORES, TRUST, AGREEMENT, COMPARISON, RANKING = (
    "scores.jsonl",
    "trust.jsonl",
    "agreement.json",
    "comparison.json",
    "ranking.json",
)
# The names of a file of scores, whatever its form.
SCORES_FILES = (SCORES, "scores.jsonl.gz", "scores.parquet")


class FolderKind(NamedTuple):
    """A kind of folder that a verb writes; folder_kinds.toml describes the fields."""

    name: str
    files: Sequence[str]
    noun: str
    use: str
    is_run: bool = False
    rows: str = ""
    result: str = ""
    summed_up: Sequence[str] | None = None

    def file_in(self, names: Collection[str]) -> str | None:
        matches = (min(matching(names, pattern), default=None) for pattern in self.files)
        return next((name for name in matches if name), None)

    def describe(self, folder: Path) -> str:
        return f"{folder} is {self.noun}: {self.use.format(folder, parent=folder.parent.parent)}"


_TABLES = load_toml("io/folder_kinds.toml")
*FOLDER_KINDS, SCORE_CACHE = (
    FolderKind(name, **entry) for name, entry in _TABLES.items() if name != "writes"
)
KINDS = {kind.name: kind for kind in FOLDER_KINDS}
# What each verb writes into a folder; by the first of these files its results are known.
VERB_FILES: dict[str, list[str]] = _TABLES["writes"]

_CACHE_NAME = re.compile(r"pairs-[0-9a-f]{12}")


def kind_among(names: Collection[str], folder: Path) -> FolderKind | None:
    if folder.parent.name == "scores" and _CACHE_NAME.fullmatch(folder.name):
        return SCORE_CACHE
    return next((kind for kind in FOLDER_KINDS if kind.file_in(names)), None)


def folder_kind(path: Path) -> FolderKind | None:
    """Return the kind of a folder, or of the folder of a file with a known name; else None."""
    folder = path
    try:
        if path.is_dir():
            names = {file.name for file in path.iterdir()}
        else:
            folder, names = path.parent, {path.name}
    except OSError:
        return None
    return kind_among(names, folder.resolve())


def wrong_folder(path: Path, problem: str, wanted: str = "") -> InputError:
    """Return the error for a path that a verb does not read, with the verb that does.

    If HistoEval did not write it, `problem` is the message.
    """
    message = f"{path} {problem}"
    if (kind := folder_kind(path)) is not None:
        message = kind.describe(path if path.is_dir() else path.parent)
    return InputError(f"{message}; give {wanted}" if wanted else message)
