"""Experts' scores by the id of a pair: a table with a column for each criterion, and no texts.

Rows of one pair, as of several raters in the `ratings.csv` of a study, are averaged; so are several
columns of one criterion.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from histoeval.errors import InputError, Problem
from histoeval.io.files import open_table
from histoeval.io.results import Key
from histoeval.io.sheets import Range, rating_of
from histoeval.io.tables.columns import (
    Columns,
    columns_by_name,
    columns_found,
    demand_columns,
    normalised,
)
from histoeval.io.tables.formats import Record
from histoeval.io.tables.row_faults import Fault, name_of
from histoeval.report import Noun

_NO_ID = Fault("missing_id")


class ExpertScores(Noun):
    """The scores of each pair by criterion, the case of each, and the rows that were no use."""

    name: str
    sha256: str
    columns: Mapping[str, tuple[str, ...]]
    """The columns of each criterion."""
    scores: Mapping[Key, Mapping[str, float]]
    cases: Mapping[Key, str]
    problems: tuple[Problem, ...] = ()

    def of_pairs(self, keys: Collection[Key]) -> ExpertScores:
        """The same under the names of pairs; an id without a system is that of the only one."""
        systems: dict[str, list[Key]] = {}
        for key in keys:
            systems.setdefault(key[0], []).append(key)

        def called(key: Key) -> Key:
            known = [] if key in keys or key[1] else systems.get(key[0], [])
            if len(known) > 1:
                raise InputError(
                    f"{self.name} does not say the system, and {key[0]!r} has reports of "
                    f"{len(known)}: add a column `system`, or name it with --system"
                )
            return known[0] if known else key

        return self.model_copy(
            update={
                "scores": {called(key): each for key, each in self.scores.items()},
                "cases": {called(key): each for key, each in self.cases.items()},
            }
        )


class _Places(Noun):
    id: str
    system: str | None
    case: str | None
    criteria: Mapping[str, tuple[str, ...]]

    @property
    def used(self) -> list[str]:
        criteria = [name for names in self.criteria.values() for name in names]
        return [name for name in (self.id, self.system, self.case, *criteria) if name]


def read_expert_scores(
    path: Path,
    criteria: Sequence[str],
    *,
    named: Mapping[str, Sequence[str]] | None = None,
    within: Mapping[str, Range] | None = None,
    columns: Columns | None = None,
    case: str | None = None,
    encoding: str | None = None,
) -> ExpertScores:
    """Read a table; a criterion is in the column of its name, or in those that `named` says.

    Scores outside the range that `within` has for a criterion are not used, and told.
    """
    columns = columns or Columns()
    opened = open_table(path, columns, encoding)
    places = _places(opened.table.columns, criteria, named or {}, columns, case, path)
    found: dict[Key, dict[str, list[float]]] = {}
    cases: dict[Key, str] = {}
    problems: list[Problem] = []
    for record in opened.table.read(places.used):
        if record.values is None:
            problems += [] if record.problem is None else [record.problem]
            continue
        key = _key(record, places)
        if isinstance(key, Fault):
            problems.append(opened.table.named(key).problem(record.place, places.id))
            continue
        if places.case and isinstance(of := name_of(record.values.get(places.case), _NO_ID), str):
            cases[key] = of
        row, wrong = _row(record, places, within or {})
        problems += wrong
        for name, scores in row.items():
            found.setdefault(key, {}).setdefault(name, []).extend(scores)
    return ExpertScores(
        name=opened.name,
        sha256=opened.sha256,
        columns=places.criteria,
        scores={key: {n: fmean(s) for n, s in by.items()} for key, by in found.items()},
        cases=cases,
        problems=tuple(problems),
    )


def _places(
    found: Sequence[str],
    criteria: Sequence[str],
    named: Mapping[str, Sequence[str]],
    columns: Columns,
    case: str | None,
    path: Path,
) -> _Places:
    by_name = columns_by_name(found)
    chosen = [column for names in named.values() for column in names]
    demand_columns([columns.id, columns.system, case, *chosen], found, path)
    if unknown := set(named) - set(criteria):
        raise InputError(
            f"the judge has no criterion {min(unknown)!r}; its criteria: {', '.join(criteria)}"
        )
    here = {name: tuple(named.get(name) or _columns_of(name, found)) for name in criteria}
    if not any(here.values()):
        raise InputError(
            f"{path} has no column for any criterion of the judge ({', '.join(criteria)}): name "
            f"one, as in --criterion {criteria[0]}=COLUMN{columns_found(found)}"
        )
    id_ = columns.id or by_name.get("id") or by_name.get("case_id")
    if id_ is None:
        raise InputError(
            f"{path} has no column of ids, by which experts' scores are joined with the judge's: "
            f"name it with --id{columns_found(found)}"
        )
    return _Places(
        id=id_,
        system=columns.system or by_name.get("system"),
        case=case or by_name.get("case"),
        criteria={name: names for name, names in here.items() if names},
    )


def _columns_of(criterion: str, found: Sequence[str]) -> list[str]:
    """The column of a criterion, or those of several raters, as rater_a_factual_accuracy."""
    exact = [name for name in found if normalised(name) == normalised(criterion)]
    ending = f"_{normalised(criterion)}"
    often = "_" in criterion
    return exact or [name for name in found if often and normalised(name).endswith(ending)]


def _key(record: Record, places: _Places) -> Key | Fault:
    assert record.values is not None
    name = name_of(record.values.get(places.id), _NO_ID)
    if isinstance(name, Fault):
        return name
    system = name_of(record.values.get(places.system), _NO_ID) if places.system else ""
    return name, system if isinstance(system, str) else ""


def _row(
    record: Record, places: _Places, within: Mapping[str, Range]
) -> tuple[dict[str, list[float]], list[Problem]]:
    """The scores of a row by criterion, and what is wrong with its cells."""
    assert record.values is not None
    scores: dict[str, list[float]] = {}
    wrong: list[Problem] = []
    for criterion, names in places.criteria.items():
        for name in names:
            rating = rating_of(record.values.get(name), within.get(criterion))
            if isinstance(rating, Fault):
                wrong.append(rating.problem(record.place, name))
            elif rating is not None:
                scores.setdefault(criterion, []).append(rating)
    return scores, wrong
