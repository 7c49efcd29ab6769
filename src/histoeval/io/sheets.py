"""Expert sheets: pairs that people have scored, read whole, as no such sheet is long.

| layout | columns |
|---|---|
| HARE's | the reference, candidates called `0`, `1`, …, and beside them `Scoring 0`, … |
| long | reference and candidate, and a column of numbers for each rater or criterion |
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

from histoeval.errors import InputError, Problem
from histoeval.io.cells import name_of
from histoeval.io.columns import Columns, Layout, normalised
from histoeval.io.files import ONE_TABLE, check_there, demand_rows, format_of, open_table
from histoeval.io.pairs import GUESS, open_source
from histoeval.io.problems import Fault, kind_of, shown
from histoeval.io.rows import Row, RowReader
from histoeval.io.tables import Record, Table
from histoeval.report import Noun, Pair

Range = tuple[float, float]

EXPERT = "expert"
"""What the one score of HARE's layout is called."""

GROUP_NAMES = ("case", "case_id")
SET_NAMES = ("set",)
"""Names by which the columns of cases and of subsets are known."""

COUNTING = frozenset({"id", "uid", "index", "row"})
"""A column of numbers whose name ends so counts its rows, and holds no scores."""

MISCOUNTING = frozenset({"broken_quotes", "record_too_long", "wrong_column_count"})
"""After such trouble, what is one row and what are two is a guess."""

SENTENCES = {
    "not_a_number": "{column} is {value} and not a number ({where}): give the score as a number, "
    "or leave the cell empty where nobody scored",
    "out_of_range": "{column} is {value:g}, and scores go from {low:g} to {high:g} ({where}): "
    "correct it, or leave the cell empty",
    "missing_case": "{file} has no case for row {row} ({where}): add it, or leave the row out",
}

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LARGEST = 1e300
"""What a score looks like, and what none exceeds."""

_NOTHING = Fault("missing_value")


class Rated(Noun):
    """One pair that people have scored.

    `group` is what is resampled together: the case, or the reference's own words where nothing
    says the case. `labels` are other columns that were asked for, such as the organ. `scores` are
    by rater or criterion; a missing rating is not in it.
    """

    pair: Pair
    group: str
    set: str = ""
    labels: Mapping[str, str] = {}
    scores: Mapping[str, float]


class Sheet(Noun):
    """The pairs of a sheet, what was wrong with its other rows, and notes on how it was read.

    `wide` is HARE's layout, where ids are those of the row and of the candidate.
    """

    rated: tuple[Rated, ...]
    wide: bool = False
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    """Where everything stands; `scores` are columns by name, for each candidate column."""

    table: Table
    layout: Layout
    wide: bool
    scores: Mapping[str, Mapping[str, str]]
    group: str | None
    set: str | None
    labels: tuple[str, ...]
    within: Range | None
    cases: Mapping[int, str | Fault] | None


def read_sheet(
    path: Path,
    *,
    cases: Path | None = None,
    scores: Sequence[str] | None = None,
    group: str | None = None,
    set: str | None = None,  # noqa: A002 - the word for it
    labels: Sequence[str] = (),
    within: Range | None = None,
    columns: Columns = GUESS,
    encoding: str | None = None,
) -> Sheet:
    """Read an expert sheet; columns that are not named are guessed.

    `cases` is a table of row (from 0) and case, for HARE's layout; `labels` are further columns to
    keep as they are; `within` are the lowest and the highest score there can be.
    """
    _check_table(path)
    source = open_source([path], columns, encoding)
    table, layout = _in_memory(source.table), source.layout
    wide = _is_wide(layout, table)
    group_column = _column(group, GROUP_NAMES, table, path)
    set_column = _column(set, SET_NAMES, table, path)
    label_columns = tuple(_demanded(name, table, path) for name in labels)
    used = (*layout.columns, group_column, set_column, *label_columns)
    if cases is not None and not wide:
        raise InputError(f"{cases} cannot be used: {path} is in long layout; name a group column")
    if cases is not None and group is not None:
        raise InputError(f"{cases} and the column {group!r} both say the case: give one of them")
    plan = _Plan(
        table=table,
        layout=layout,
        wide=wide,
        scores=_paired(table, layout, scores, path)
        if wide
        else _single(table, layout, scores, used, path),
        group=group_column,
        set=set_column,
        labels=label_columns,
        within=within,
        cases=None if cases is None else _cases_of(table, cases, path),
    )
    return _read(plan, source.notes)


def rating_of(value: object, within: Range | None = None) -> float | Fault | None:
    """The score in a cell, None where there is none, or what is wrong with it."""
    if value is None or isinstance(value, Fault):
        return value
    if isinstance(value, str):
        return _written(value, within)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return Fault("not_a_number", {"value": kind_of(value)})
    return _checked(value, within)


def _written(text: str, within: Range | None) -> float | Fault | None:
    """A score that is written out; Python itself would take `nan` and `1_0` for numbers."""
    if not text.strip():
        return None
    if NUMBER.fullmatch(text.strip()):
        return _checked(float(text), within)
    return Fault("not_a_number", {"value": repr(text[:40])})


def _checked(value: float | Decimal, within: Range | None) -> float | Fault | None:
    """A number, if it is a finite one in its range; data frames have one that says nothing."""
    if value != value:  # noqa: PLR0124 - so is a NaN known, of whatever type
        return None
    if not -LARGEST <= value <= LARGEST:
        return Fault("not_a_number", {"value": "infinite"})
    number = float(value)
    if within is not None and not within[0] <= number <= within[1]:
        return Fault("out_of_range", {"value": number, "low": within[0], "high": within[1]})
    return number


def _check_table(path: Path) -> str:
    """The format of a file, which must be a table."""
    check_there(path)
    kind = format_of(path, ONE_TABLE)
    if kind in ("text", "folder"):
        raise InputError(f"{path} has no columns of scores. What can be read: {ONE_TABLE}")
    return kind


def _in_memory(table: Table) -> Table:
    """The table with its rows read, and with the columns that come up only in later rows."""
    records = list(table.read([name for name in table.columns if name]))
    later = (name for record in records for name in record.values or ())
    found = tuple(name for name in dict.fromkeys((*table.columns, *later)) if name)
    return replace(table, columns=found, read=lambda _: iter(records))


def _column(named: str | None, usual: Sequence[str], table: Table, path: Path) -> str | None:
    """The column that was named, or one that has a usual name, or none."""
    if named is not None:
        return _demanded(named, table, path)
    by_name = _by_name(table)
    return next((by_name[name] for name in usual if name in by_name), None)


def _demanded(named: str, table: Table, path: Path) -> str:
    if named in table.columns:
        return named
    near = difflib.get_close_matches(named, table.columns, n=1)
    hint = f" (did you mean {shown(near[0])!r}?)" if near else ""
    raise InputError(f"{path} has no column {named!r}{hint}{_list(table)}")


def _list(table: Table) -> str:
    names = [repr(shown(name[:40])) for name in table.columns[:20]]
    return f". Columns found: {', '.join(names)}{' …' if len(table.columns) > 20 else ''}"


def _by_name(table: Table) -> dict[str, str]:
    """Columns by their names as these are compared; of two equal ones, the left."""
    return {normalised(name): name for name in reversed(table.columns)}


def _is_wide(layout: Layout, table: Table) -> bool:
    by_name = _by_name(table)
    return all(f"scoring_{normalised(name)}" in by_name for name in layout.candidates)


def _paired(
    table: Table, layout: Layout, named: Sequence[str] | None, path: Path
) -> dict[str, dict[str, str]]:
    """The scores of HARE's layout: one column beside each candidate."""
    if named is not None and list(named) != [EXPERT]:
        raise InputError(f"{path} is in HARE's layout: its only score is called {EXPERT!r}")
    by_name = _by_name(table)
    return {name: {EXPERT: by_name[f"scoring_{normalised(name)}"]} for name in layout.candidates}


def _single(
    table: Table,
    layout: Layout,
    named: Sequence[str] | None,
    used: Sequence[str | None],
    path: Path,
) -> dict[str, dict[str, str]]:
    """The scores of the long layout: columns that were named, or those that hold numbers."""
    if len(layout.candidates) > 1:
        raise InputError(
            f"{path} has {len(layout.candidates)} candidate columns "
            f"({', '.join(layout.candidates)}), and which of them was scored cannot be told: give "
            "each a column `Scoring NAME`, or each text a row of its own"
        )
    free = [name for name in table.columns if name not in used]
    chosen = (
        [name for name in free if _holds_scores(name, table)]
        if named is None
        else [_demanded(name, table, path) for name in named]
    )
    if not chosen:
        raise InputError(f"{path} has no column of scores; name those to use{_list(table)}")
    return {layout.candidates[0]: {name: name for name in chosen}}


def _holds_scores(name: str, table: Table) -> bool:
    """Whether most of what stands in a column are numbers, and its name is not one for counts."""
    if normalised(name).rpartition("_")[2] in COUNTING:
        return False
    cells = [rating_of(record.values.get(name)) for record in table.read(()) if record.values]
    filled = [cell for cell in cells if cell is not None]
    return sum(isinstance(cell, float) for cell in filled) * 2 > len(filled)


def _cases_of(table: Table, cases: Path, path: Path) -> dict[int, str | Fault]:
    """The case of every row by its number, where it can be told which row is which."""
    records = list(table.read(()))
    for record in records:
        if record.problem is not None and record.problem.code in MISCOUNTING:
            raise InputError(
                f"the rows of {path} cannot be counted, and so not matched with {cases}: "
                f"{record.problem.message}"
            )
    known = read_cases(cases)
    if (last := max(known)) >= len(records):
        raise InputError(
            f"{cases} has a case for row {last}, and {path} has the rows 0 to {len(records) - 1}, "
            "counted from 0: is it for another sheet?"
        )
    return {
        row + 1: known.get(row, Fault("missing_case", {"file": cases.name, "row": row}))
        for row in range(len(records))
    }


def read_cases(path: Path) -> dict[int, str]:
    """The case of each row of a sheet, counted from 0, from a table with columns row and case."""
    kind = _check_table(path)
    table, _ = open_table(path, kind, Columns(id="row", system="case"), None)
    by_name = _by_name(table)
    if missing := [name for name in ("row", "case") if name not in by_name]:
        raise InputError(f"{path} has no column {missing[0]!r}{_list(table)}")
    used = (by_name["row"], by_name["case"])
    demand_rows(table, used, path)
    cases: dict[int, str] = {}
    for record in table.read(used):
        if record.values is None:
            assert record.problem is not None, "a record has values or a problem"
            raise InputError(f"{path}: {record.problem.message}")
        row = rating_of(record.values.get(used[0]))
        case = name_of(record.values.get(used[1]), _NOTHING)
        if not isinstance(row, float) or not row.is_integer() or row < 0:
            raise InputError(f"{path}: row is not the number of a row ({record.place})")
        if isinstance(case, Fault):
            raise InputError(f"{path}: {table.said(case).problem(record.place, 'case').message}")
        if int(row) in cases:
            raise InputError(f"{path} has row {int(row)} more than once ({record.place})")
        cases[int(row)] = case
    return cases


def _read(plan: _Plan, notes: tuple[str, ...]) -> Sheet:
    by_number = {record.number: record for record in plan.table.read(())}
    rated: list[Rated] = []
    problems: dict[Problem, None] = {}
    for row in RowReader(plan.table, plan.layout).rows():
        outcome = _rated(plan, row, by_number[row.number])
        if isinstance(outcome, Rated):
            rated.append(outcome)
        else:
            problems |= dict.fromkeys(outcome)
    return Sheet(rated=tuple(rated), wide=plan.wide, problems=tuple(problems), notes=notes)


def _rated(plan: _Plan, row: Row, record: Record) -> Rated | tuple[Problem, ...]:
    """One row of one system: what was scored, or everything that is wrong with it."""
    if record.values is None:
        return row.problems
    values = record.values
    candidate = plan.layout.candidates[0] if plan.layout.system or not plan.wide else row.system
    assert candidate is not None, "without a column for it, the candidate column is the system"
    columns = plan.scores[candidate]
    ratings = {name: rating_of(values.get(at), plan.within) for name, at in columns.items()}
    group = _group(plan, record, values)
    subset = "" if plan.set is None else _label(values.get(plan.set))
    labels = {name: _label(values.get(name)) for name in plan.labels}
    cells: list[tuple[str, object]] = [(plan.group or "case", group), (plan.set or "set", subset)]
    cells += labels.items()
    cells += [(columns[name], rating) for name, rating in ratings.items()]
    wrong = [_said(plan, cell, record, name) for name, cell in cells if isinstance(cell, Fault)]
    if row.pair is None or wrong or isinstance(group, Fault) or isinstance(subset, Fault):
        return (*row.problems, *wrong)
    pair = row.pair.model_copy(update={"id": f"{row.id}.{candidate}"}) if plan.wide else row.pair
    return Rated(
        pair=pair,
        group=" ".join((group or pair.reference).split()),
        set=subset,
        labels={name: label for name, label in labels.items() if isinstance(label, str)},
        scores={name: rating for name, rating in ratings.items() if isinstance(rating, float)},
    )


def _label(value: object) -> str | Fault:
    """A name in a cell; one that is left empty is one too."""
    label = name_of(value, _NOTHING)
    return "" if label is _NOTHING else label


def _group(plan: _Plan, record: Record, values: Mapping[str, object]) -> str | Fault | None:
    """The case that a row is of, where the sheet or its file of cases says it."""
    if plan.cases is not None:
        return plan.cases[record.number]
    return None if plan.group is None else name_of(values.get(plan.group), _NOTHING)


def _said(plan: _Plan, fault: Fault, record: Record, column: str) -> Problem:
    """What is wrong with a cell, said in full."""
    if fault.kind not in SENTENCES:
        return plan.table.said(fault).problem(record.place, column)
    text = SENTENCES[fault.kind].format(where=record.place, column=column, **fault.details)
    return Problem(code=fault.kind, message=shown(text), column=column)
