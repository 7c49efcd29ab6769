"""STUDY.yaml: which pairs are scored, by whom, on which scale; written, read and checked."""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from histoeval.errors import InputError, OutputError, Problem, SettingError
from histoeval.io.pairs import PairSource, open_source
from histoeval.io.results import Key, ScoredMetric, read_scored
from histoeval.io.settings_files import FilePath, read_settings
from histoeval.io.sheets import GROUP_NAMES, RATER, SET_NAMES, guess_raters
from histoeval.io.tables.columns import Columns, columns_by_name, demand_columns, normalised
from histoeval.io.tables.records import Fault, name_of
from histoeval.io.writing import write_text, writing_to
from histoeval.judges.prompt import Criterion, load_prompt
from histoeval.report import Noun
from histoeval.resources import resource_text

COORDINATOR = "coordinator"  # who sees everything; no rater can be called so
_RATER = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_EMPTY = Fault("missing_value")


def sheet_column(rater: str) -> str:
    """Return the name of a rater's column in the sheet, by which `agree` recognises it."""
    return f"rater_{rater}"


def _checked_raters(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if not _RATER.fullmatch(name) or name == COORDINATOR:
            raise ValueError(
                f"cannot name a rater {name!r}: write up to 40 small letters, digits, - and _, "
                f"as in anna or rater-2, and not {COORDINATOR!r}"
            )
        if sheet_column(name) not in guess_raters({sheet_column(name): [0.0]}, Path())[0]:
            raise ValueError(
                f"cannot name a rater {name!r}: in a sheet, a column of that name counts or "
                "measures something; write another name"
            )
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"name {twice[0]!r} twice: give every rater a name of their own")
    return names


class StudyFile(Noun):
    """The content of STUDY.yaml; files are named from its folder."""

    name: Annotated[str, Field(min_length=1, max_length=120)]
    pairs: FilePath
    raters: Annotated[tuple[str, ...], Field(min_length=1), AfterValidator(_checked_raters)]
    seed: Annotated[int, Field(ge=0)]
    # a prompt of the judge with one criterion: its levels are the whole points of the score
    scale: str = "expert5"
    half_points: bool = True
    # a prompt of the judge whose criteria are asked as well; None for the score alone
    criteria: str | None = "rubric4"
    output: FilePath
    # a folder of `histoeval score` on the same pairs, for the coordinator's eyes
    run: FilePath | None = None
    columns: Columns = Columns()
    encoding: str | None = None
    labels: tuple[str, ...] = ()  # columns to keep in the sheet, such as the organ


class StudyPair(NamedTuple):
    key: Key
    reference: str
    candidate: str
    labels: Mapping[str, str]

    @property
    def group(self) -> str:
        """The case it is of, as `agree` sees it: by a column, or else by the reference's words."""
        named = (label for name, label in self.labels.items() if _is_case(name))
        return " ".join(next(named, self.reference).split())


@dataclass(frozen=True)
class ExpertStudy:
    file: StudyFile
    pairs: tuple[StudyPair, ...]
    scale: Criterion
    criteria: tuple[Criterion, ...]

    @property
    def folder(self) -> Path:
        return self.file.output

    @cached_property
    def steps(self) -> tuple[float, ...]:
        per_point = 2 if self.file.half_points else 1
        count = (self.scale.highest - self.scale.lowest) * per_point
        return tuple(self.scale.lowest + step / per_point for step in range(count + 1))

    def order(self, rater: str) -> tuple[StudyPair, ...]:
        """Shuffle the pairs for a rater, independently of the order of the table."""

        def shuffled_place(pair: StudyPair) -> bytes:
            words = json.dumps([self.file.seed, rater, *pair.key])
            return hashlib.sha256(words.encode()).digest()

        return tuple(sorted(self.pairs, key=shuffled_place))

    def identity(self) -> dict[str, Any]:
        """The content that must stay the same while raters are at work."""
        texts = sorted([*pair.key, pair.reference, pair.candidate] for pair in self.pairs)
        criteria = [criterion.model_dump(mode="json") for criterion in (self.scale, *self.criteria)]
        return {
            "pairs": _digest(texts),
            "seed": self.file.seed,
            "scale": _digest([criteria[0], self.file.half_points]),
            "criteria": _digest(criteria[1:]),
        }

    def metrics(self) -> dict[str, ScoredMetric]:
        if self.file.run is None:
            return {}
        keys = {pair.key for pair in self.pairs}
        scored = {
            name: metric for name, metric in read_scored(self.file.run).items() if metric.values
        }
        if not any(keys & metric.values.keys() for metric in scored.values()):
            example = ", ".join(map(repr, self.pairs[0].key))
            raise InputError(
                f"run: {self.file.run} has no score for any pair of {self.file.pairs}: is it of "
                f"another table? A pair of this one has id and system {example}"
            )
        return scored


def _digest(content: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def read_study(path: Path) -> ExpertStudy:
    file = read_settings(path, StudyFile)
    scale = _criteria(path, "scale", file.scale)
    if len(scale) != 1 or scale[0].lowest < 0 or scale[0].highest > 9:
        raise SettingError(
            f"{path}: scale {file.scale} must have one criterion with levels between 0 and 9, so "
            "that one key gives a score"
        )
    study = ExpertStudy(
        file=file,
        pairs=_pairs(path, file),
        scale=scale[0],
        criteria=() if file.criteria is None else _criteria(path, "criteria", file.criteria),
    )
    study.metrics()
    return study


def _criteria(path: Path, setting: str, named: str) -> tuple[Criterion, ...]:
    is_file = named.lower().endswith((".yaml", ".yml"))
    try:
        return load_prompt(str(path.parent / named) if is_file else named).criteria
    except (InputError, SettingError) as error:
        raise SettingError(f"{path}: {setting}: {error}") from error


def _pairs(path: Path, file: StudyFile) -> tuple[StudyPair, ...]:
    """Read the pairs of the table; a broken row is refused."""
    source = open_source([file.pairs], file.columns, file.encoding)
    columns = _label_columns(source, file.labels, file.pairs)
    labels, problems = _labels(source, columns)
    pairs = []
    for row in source.rows():
        problems += row.problems
        if row.pair is not None:
            key = (row.pair.id, row.pair.system)
            row_labels = labels.get(row.number, {})
            pairs.append(StudyPair(key, row.pair.reference, row.pair.candidate, row_labels))
    if problems:
        count = "1 row" if len(problems) == 1 else f"{len(problems):,} rows"
        raise InputError(
            f"{path}: pairs: {count} of {file.pairs} cannot be used; correct them or take them "
            f"out before the study starts. The first: {problems[0].message}"
        )
    return tuple(pairs)


def _label_columns(source: PairSource, named: Sequence[str], table: Path) -> tuple[str, ...]:
    """Return the columns to keep: those that were named, and those of the case or the set."""
    demand_columns(named, source.table.columns, table)
    for name in named:
        if any(map(RATER.match, normalised(name).split("_"))):
            raise InputError(
                f"labels: {name!r} reads like the name of a rater, and `agree` would take its "
                "numbers for scores: give the column another name"
            )
    by_name = columns_by_name(source.table.columns)
    usual = [by_name[name] for name in (*GROUP_NAMES, *SET_NAMES) if name in by_name]
    taken = source.layout.columns
    return tuple(name for name in dict.fromkeys((*usual, *named)) if name not in taken)


def _labels(
    source: PairSource, columns: Sequence[str]
) -> tuple[dict[int, dict[str, str]], list[Problem]]:
    """Read the labels of every row by its number, and the problems with labels."""
    labels: dict[int, dict[str, str]] = {}
    problems = []
    for record in source.table.read((*source.layout.columns, *columns)):
        for column in columns if record.values is not None else ():
            label = name_of((record.values or {}).get(column), _EMPTY)
            if label is _EMPTY and not _is_case(column):
                label = ""
            if isinstance(label, Fault):
                problems.append(source.table.named(label).problem(record.place, column))
            else:
                labels.setdefault(record.number, {})[column] = label
    return labels, problems


def _is_case(column: str) -> bool:
    return normalised(column) in GROUP_NAMES


def write_starter(
    path: Path, pairs: Path, raters: Sequence[str], *, name: str, seed: int
) -> ExpertStudy:
    """Write a plan for a table of pairs; one that is there is never replaced."""
    if path.exists():
        raise OutputError(f"{path} exists already; change it, or give another --output")
    settings = {
        "name": json.dumps(name, ensure_ascii=False),
        "pairs": json.dumps(os.path.relpath(pairs, path.parent), ensure_ascii=False),
        "raters": f"[{', '.join(json.dumps(rater) for rater in raters)}]",
        "output": json.dumps(f"{path.stem.lower()}-ratings"),
    }
    with writing_to(path.parent):
        text = resource_text("web/study/starter.yaml")
        write_text(path, text.format(file=path.name, seed=seed, **settings))
    try:
        return read_study(path)
    except Exception:
        path.unlink()
        raise
