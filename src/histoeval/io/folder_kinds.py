"""The folders that HistoEval writes: by which file each is known, and which verb reads it."""

from __future__ import annotations

import re
from collections.abc import Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from histoeval.errors import InputError

SCORES, TRUST, REPORTS, AGREEMENT, COMPARISON, RANKING = (
    "scores.jsonl",
    "trust.jsonl",
    "reports.jsonl",
    "agreement.json",
    "comparison.json",
    "ranking.json",
)
SCORES_FILES = (SCORES, "scores.jsonl.gz", "scores.parquet")
"""The names of a file of scores, whatever its form."""

EXPERIMENTS = ("table1", "table2", "table3", "figure3a", "figure3b", "hierarchy")
"""What `experiment` calls its tables, in the order of a page."""


class FolderKind(NamedTuple):
    """What a verb writes into a folder: its name, its files, and what to do with it."""

    name: str
    files: tuple[str, ...]
    """The folder has one of these; * stands for any characters."""
    noun: str
    use: str
    """The command that reads it, with the folder as {}."""

    def file_in(self, names: Collection[str]) -> str | None:
        """The first file by which a folder with files of these names is known."""
        for pattern in self.files:
            if "*" not in pattern:
                if pattern in names:
                    return pattern
            elif found := sorted(name for name in names if fnmatchcase(name, pattern)):
                return found[0]
        return None

    def told(self, folder: Path) -> str:
        """What the folder is, and how it is read."""
        return f"{folder} is {self.noun}: {self.use.format(folder, parent=folder.parent.parent)}"


_PAGE = "`histoeval report {}` makes its page"

SCORE_CACHE = FolderKind(
    "score cache",
    (),
    "no run but scores that `histoeval challenge rank` has kept, of all teams together",
    "the ranking is in {parent}/index.html",
)
_CACHE_NAME = re.compile(r"pairs-[0-9a-f]{12}")
_CACHES = "scores"

FOLDER_KINDS = (
    FolderKind(
        "experiment",
        (*(f"{name}.json" for name in EXPERIMENTS), "scores.jsonl.meta.json"),
        "tables of `histoeval experiment`",
        _PAGE,
    ),
    FolderKind("judge", ("usage.json",), "a run of `histoeval judge`", _PAGE),
    FolderKind("score", (*SCORES_FILES, "upload.json"), "a run of `histoeval score`", _PAGE),
    FolderKind("trust", (TRUST,), "a run of `histoeval trust`", _PAGE),
    FolderKind(
        "generate",
        (REPORTS,),
        "reports that `histoeval generate` has written",
        "`histoeval trust --reports {}/reports.csv` reads them",
    ),
    FolderKind("agree", (AGREEMENT,), "a study of metrics by `histoeval agree`", _PAGE),
    FolderKind("compare", (COMPARISON,), "a comparison by `histoeval compare`", _PAGE),
    FolderKind(
        "ranking",
        (RANKING,),
        "a ranking by `histoeval challenge rank`",
        "its page is {}/index.html",
    ),
    FolderKind(
        "challenge",
        ("PARTICIPANTS.md",),
        "a challenge",
        "`histoeval challenge rank {} TEAM.json` ranks teams",
    ),
    FolderKind(
        "study",
        ("STUDY.yaml",),
        "a study by experts",
        "`histoeval serve --study {}/STUDY.yaml` opens it",
    ),
    FolderKind(
        "alignment",
        ("alignment.yaml",),
        "an alignment of a judge",
        "`histoeval judge file PAIRS --alignment {}/alignment.yaml` applies it",
    ),
    FolderKind(
        "tiles",
        ("tiles.jsonl",),
        "tiles that `histoeval slide tiles` has cut",
        "`histoeval generate {}/tiles` writes reports on them",
    ),
    FolderKind(
        "corpus",
        ("*.ann",),
        "an annotated corpus",
        "`histoeval corpus stats {}` reads it",
    ),
)
"""In the order in which they are looked for: the first that a folder has counts."""

RUN_KINDS = (
    *("judge", "score", "trust", "generate", "agree", "compare", "experiment"),
    "ranking",
)
"""The folders that are runs: what `runs list` and `serve` show."""


def is_score_cache(folder: Path) -> bool:
    """True for the folder in which a ranking keeps the scores of the pairs of all teams."""
    return folder.parent.name == _CACHES and _CACHE_NAME.fullmatch(folder.name) is not None


def kind_among(names: Collection[str], folder: Path) -> FolderKind | None:
    """The kind of a folder that has files of these names."""
    if is_score_cache(folder):
        return SCORE_CACHE
    return next((kind for kind in FOLDER_KINDS if kind.file_in(names)), None)


def folder_kind(path: Path) -> FolderKind | None:
    """The kind of a folder, or of the folder of a file with a known name; else None."""
    try:
        folder = path if path.is_dir() else path.parent
        names = {each.name for each in folder.iterdir()} if path.is_dir() else {path.name}
    except OSError:
        return None
    return kind_among(names, folder.resolve())


def wrong_folder(path: Path, problem: str, wanted: str = "") -> InputError:
    """The error for a path that a verb does not read: what it is, and which verb reads it.

    Where HistoEval has not written it, the problem is said as it is.
    """
    kind = folder_kind(path)
    folder = path if path.is_dir() else path.parent
    found = f"{path} {problem}" if kind is None else kind.told(folder)
    return InputError(f"{found}; give {wanted}" if wanted else found)
