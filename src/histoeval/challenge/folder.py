"""The folder of a challenge: its policy, the ids that are asked for and, for some, the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from histoeval.argument_names import front_door
from histoeval.challenge.policy import POLICY, ChallengePolicy, read_challenge_policy
from histoeval.errors import InputError, OutputError, did_you_mean
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.submissions import Truth, read_truth
from histoeval.io.tables.delimited import csv_text
from histoeval.io.writing import make_folder, write_whole, writing_to
from histoeval.resources import resource_text
from histoeval.run.compare.compare import read_case_table
from histoeval.run.models import metric_names
from histoeval.terms.language import foreign_language
from histoeval.terms.sites import find_operated, find_sites, organ_of, sites
from histoeval.version import __version__

IDS = "ids.txt"
SUBGROUPS = "subgroups.csv"
TRUTH = "ground_truth"  # the folder of the truth, which goes into the image and to nobody else
NO_ORGAN = "unknown"
CASES = ("all", "shared")  # cases that count, if the policy names no file of ids
MOST_SHOWN = 5

# files that `init` writes, copies of those of this package; `evaluate` has no ending there
_TEMPLATES = (POLICY, "README.md", "PARTICIPANTS.md", "Containerfile", "evaluate.sh")


@dataclass(frozen=True)
class Challenge:
    """An opened folder; in a participant's folder `truth` has ids without texts."""

    folder: Path
    policy: ChallengePolicy
    truth: Truth
    groups: Mapping[str, str] = field(default_factory=dict)
    subgroups: Mapping[str, str] = field(default_factory=dict)
    listed: tuple[str, ...] | None = None  # the ids that the policy lists, if it lists any

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self.truth.references) if self.listed is None else self.listed


class InitResult(NamedTuple):
    """The files that were written, those that existed and stayed, and notes on both."""

    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    notes: tuple[str, ...]


@front_door
def init_challenge(folder: Path | str, truth: Path | str | None = None) -> InitResult:
    """Write the folder of a new challenge, or add the truth to one.

    Args:
        folder: where it goes; files that are there stay as they are.
        truth: the references: a table with ids, such as `[{"id": …, "report": …}]`.

    Examples:
        >>> histoeval.challenge.init_challenge("my-challenge", "truth.json")
    """
    home = Path(folder)
    contents: dict[str, str] = {}
    notes: list[str] = []
    for file in _TEMPLATES:
        template = resource_text(f"challenge/data/{file}")
        contents[file.removesuffix(".sh")] = template.replace("@VERSION@", __version__)
    if truth is not None:
        references = _faultless(Path(truth), home)
        rows = [
            {"id": name, "report": texts[0] if len(texts) == 1 else list(texts)}
            for name, texts in references.items()
        ]
        organs = [
            {"id": id_, "subgroup": organ_named(reports[0])} for id_, reports in references.items()
        ]
        contents |= {
            f"{TRUTH}/truth.json": json.dumps(rows, indent=1, ensure_ascii=False) + "\n",
            IDS: "".join(f"{name}\n" for name in references),
            SUBGROUPS: csv_text(organs),  # of each case the organ, to be looked over
        }
        if several := [name for name, texts in references.items() if len(texts) > 1]:
            notes.append(
                f"Cases with several references: {len(several):,}, {several[0]!r} the first; "
                "`references` in the policy says how they count."
            )
        if foreign := [
            id_ for id_, texts in references.items() if any(map(foreign_language, texts))
        ]:
            notes.append(
                f"Cases whose truth seems not to be in English: {len(foreign):,}, {foreign[0]!r} "
                "the first; metrics that read English (concordance, hare) have no score for them."
            )
    new_files: list[Path] = []
    old_files: list[Path] = []
    with writing_to(home):
        make_folder(home)
        for name, content in contents.items():
            path = home / name
            (old_files if path.exists() else new_files).append(path)
            if path not in old_files:
                make_folder(path.parent)
                write_whole(path, content.encode())
        (home / "evaluate").chmod(0o755)
    return InitResult(tuple(new_files), tuple(old_files), tuple(notes))


def _faultless(path: Path, home: Path) -> Mapping[str, tuple[str, ...]]:
    """Return the references of a truth without faults, equal to the existing truth if any."""
    references = _read_truth(path).references
    current = _truth_in(home / TRUTH) if (home / TRUTH).is_dir() else None
    if current and read_truth(current).references != references:
        raise OutputError(
            f"{current} is another truth; remove it first, with {IDS} and {SUBGROUPS}"
        )
    for name in references:
        if [name] != name.strip().splitlines():
            raise InputError(
                f"{path}: the id {name!r} has outer spaces or a line break, which the lines of "
                f"{IDS} cannot hold: correct it"
            )
    return references


def _read_truth(path: Path) -> Truth:
    truth = read_truth(path)
    if problems := truth.problems:
        reasons = "; ".join(problem.reason for problem in problems[:MOST_SHOWN])
        hidden_count = len(problems) - MOST_SHOWN
        ending = f"; and {hidden_count:,} more" if hidden_count > 0 else ""
        raise InputError(f"the truth must be without fault. {path}: {reasons}{ending}")
    return truth


def organ_named(text: str) -> str:
    matches = [*find_sites(text), *find_operated(text)]
    first = min(matches, key=lambda match: match.start, default=None)
    return NO_ORGAN if first is None else sites()[organ_of(first.id)].name


def open_challenge(
    folder: Path | str,
    *,
    truth: Path | str | None = None,
    need_truth: bool = True,
    loose_ids: bool = False,
) -> Challenge:
    """Open the folder of a challenge.

    Args:
        folder: where `init_challenge` has written.
        truth: a truth that is elsewhere; by default `ground_truth/` of the folder.
        need_truth: whether ids alone do not do; to check a file they do.
        loose_ids: as in the policy, if that does not say it already.
    """
    home = Path(folder)
    if not (home / POLICY).is_file():
        raise wrong_folder(home, f"has no {POLICY}: `histoeval challenge init {home}` writes one")
    policy = read_challenge_policy(home / POLICY)
    policy = policy.model_copy(update={"loose_ids": policy.loose_ids or loose_ids})
    truth_path = home / TRUTH if truth is None else Path(truth)
    file = _truth_in(truth_path) if truth is not None or truth_path.is_dir() else None
    if need_truth or file is not None:
        metric_names(policy.metrics)
    if file is not None:
        references = _read_truth(file)
    elif need_truth:
        raise InputError(
            f"{home} has no truth: `histoeval challenge init {home} --truth FILE` adds one"
        )
    elif not (home / IDS).is_file():
        raise InputError(
            f"{home} has neither a truth nor {IDS}, the list of ids that are asked for"
        )
    else:
        references = Truth(IDS, dict.fromkeys(read_ids(home / IDS), ()))
    listed = _listed_ids(home, policy, references)
    if file is None:
        return Challenge(home, policy, references, listed=listed)
    groups = _groups(home, policy, references)
    return Challenge(home, policy, references, groups, _subgroups(home, policy), listed)


def _truth_in(path: Path) -> Path | None:
    if not path.is_dir():
        return path
    files = sorted(file for file in path.iterdir() if file.is_file() and file.name[0] != ".")
    if len(files) > 1:
        names = ", ".join(file.name for file in files[:MOST_SHOWN])
        raise InputError(f"{path} has {len(files)} files where one truth was expected: {names}")
    return files[0] if files else None


def read_ids(path: Path) -> tuple[str, ...]:
    try:
        text = path.read_text("utf-8-sig")
        listed = json.loads(text) if path.suffix == ".json" else text.splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path} is not a list of ids: {error}") from error
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise InputError(f'{path} is not a list of ids, such as ["case-1", "case-2"]')
    names = [name.strip() for name in listed if name.strip()]
    if not names:
        raise InputError(f"{path} has no ids")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{path} has {twice!r} more than once")
    return tuple(names)


def _listed_ids(home: Path, policy: ChallengePolicy, truth: Truth) -> tuple[str, ...] | None:
    if policy.cases in CASES:
        return None
    file = home / policy.cases
    if not file.is_file():
        if not any(truth.references.values()):
            return None  # participants have the list of all ids only
        guess = did_you_mean(policy.cases, CASES)
        raise InputError(
            f"{home / POLICY} has `cases: {policy.cases}`{guess}, and {file} does not exist: give "
            f"{', '.join(CASES)}, or a file with a list of ids"
        )
    ids = read_ids(file)
    if unknown := [name for name in ids if name not in truth.references]:
        raise InputError(
            f"{file} has {len(unknown):,} ids that {truth.name} has not: {unknown[0]!r} is the "
            "first"
        )
    return ids


def _groups(home: Path, policy: ChallengePolicy, truth: Truth) -> dict[str, str]:
    if policy.groups is None:
        return {}
    groups = read_case_table(home / policy.groups)
    if unknown := [id_ for id_ in truth.references if id_ not in groups]:
        raise InputError(
            f"{home / policy.groups} has no case for {len(unknown):,} ids, {unknown[0]!r} the first"
        )
    return groups


def _subgroups(home: Path, policy: ChallengePolicy) -> dict[str, str]:
    if policy.subgroups is None:
        return {}
    path = home / policy.subgroups
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: `histoeval challenge init {home} --truth FILE` writes it, or "
            "set `subgroups: null` in the policy"
        )
    return read_case_table(path, "subgroup")
