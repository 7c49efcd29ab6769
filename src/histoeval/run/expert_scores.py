"""Experts' scores by the id of a pair: a table with a column for each criterion, and no texts.

Rows of one pair, as of several raters in the `ratings.csv` of a study, are averaged; so are several
columns of one criterion.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from histoeval.errors import InputError, Problem
from histoeval.io.files import NO_ID, open_table
from histoeval.io.results import Key
from histoeval.io.sheets import Range, rating_of
from histoeval.io.tables.columns import (
    Columns,
    columns_by_name,
    columns_found,
    demand_columns,
    normalised,
)
from histoeval.io.tables.records import Fault, name_of
from histoeval.report import Noun


class ExpertScores(Noun):
    name: str
    sha256: str
    columns: Mapping[str, tuple[str, ...]]  # the columns of each criterion
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
    """Read a table; a criterion is in the column of its name, or in those that `named` says."""
    columns, within = columns or Columns(), within or {}
    opened = open_table(path, columns, encoding)
    table = opened.table
    by_name = columns_by_name(table.columns)
    chosen = [column for names in (named or {}).values() for column in names]
    demand_columns([columns.id, columns.system, case, *chosen], table.columns, path)
    rated = _criteria_columns(table.columns, criteria, named or {}, path)
    id_ = columns.id or by_name.get("id") or by_name.get("case_id")
    if id_ is None:
        raise InputError(
            f"{path} has no column of ids, by which experts' scores are joined with the judge's: "
            f"name it with --id{columns_found(table.columns)}"
        )
    system, case = columns.system or by_name.get("system"), case or by_name.get("case")
    ratings: dict[Key, dict[str, list[float]]] = {}
    cases: dict[Key, str] = {}
    problems: list[Problem] = []
    every = [column for names in rated.values() for column in names]
    for record in table.read([column for column in (id_, system, case, *every) if column]):
        values = record.values
        if values is None:
            problems += [] if record.problem is None else [record.problem]
            continue
        name = name_of(values.get(id_), NO_ID)
        if isinstance(name, Fault):
            problems.append(table.named(name).problem(record.place, id_))
            continue
        of_system = name_of(values.get(system), NO_ID) if system else ""
        key = name, of_system if isinstance(of_system, str) else ""
        if case and isinstance(of_case := name_of(values.get(case), NO_ID), str):
            cases[key] = of_case
        for criterion, names in rated.items():
            for column in names:
                rating = rating_of(values.get(column), within.get(criterion))
                if isinstance(rating, Fault):
                    problems.append(rating.problem(record.place, column))
                elif rating is not None:
                    ratings.setdefault(key, {}).setdefault(criterion, []).append(rating)
    return ExpertScores(
        name=opened.name,
        sha256=opened.sha256,
        columns=rated,
        scores={key: {n: fmean(s) for n, s in by.items()} for key, by in ratings.items()},
        cases=cases,
        problems=tuple(problems),
    )


def _criteria_columns(
    columns: Sequence[str], criteria: Sequence[str], named: Mapping[str, Sequence[str]], path: Path
) -> dict[str, tuple[str, ...]]:
    """The columns of each criterion: one, or those of several raters as rater_a_factual_accuracy.

    A criterion of a single word is not looked for at the end of other names.
    """
    if unknown := set(named) - set(criteria):
        raise InputError(
            f"the judge has no criterion {min(unknown)!r}; its criteria: {', '.join(criteria)}"
        )
    columns_of: dict[str, tuple[str, ...]] = {}
    for criterion in criteria:
        plain = normalised(criterion)
        exact = tuple(name for name in columns if normalised(name) == plain)
        raters = tuple(name for name in columns if normalised(name).endswith(f"_{plain}"))
        names = tuple(named.get(criterion, ())) or exact or (raters if "_" in criterion else ())
        columns_of |= {criterion: names} if names else {}
    if not columns_of:
        raise InputError(
            f"{path} has no column for any criterion of the judge ({', '.join(criteria)}): name "
            f"one, as in --criterion {criteria[0]}=COLUMN{columns_found(columns)}"
        )
    return columns_of
