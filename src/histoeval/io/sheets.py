"""Expert sheets: pairs that people have scored, read whole, as no such sheet is long.

| layout | columns |
|---|---|
| HARE's | the reference, candidates called `0`, `1`, …, and beside them `Scoring 0`, … |
| long | reference and candidate, and a column of numbers for each rater or criterion |
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from histoeval.errors import InputError, Problem
from histoeval.io.files import GUESS, demand_table
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.sheet_cells import Range, cases_of_rows, rating_of
from histoeval.io.sheet_raters import guess_raters, naming_raters
from histoeval.io.tables.cell_checks import name_of
from histoeval.io.tables.columns import (
    Columns,
    Layout,
    columns_by_name,
    columns_found,
    demand_columns,
    normalised,
)
from histoeval.io.tables.formats import Record, RecordTable
from histoeval.io.tables.row_faults import Fault, shown
from histoeval.report import Noun, Pair

EXPERT = "expert"
"""What the one score of HARE's layout is called."""

GROUP_NAMES = ("case", "case_id")
SET_NAMES = ("set",)
"""Names by which the columns of cases and of subsets are known."""

SENTENCES = {
    "not_a_number": "{column} is {value} and not a number ({where}): give the score as a number, "
    "or leave the cell empty where there is no score",
    "out_of_range": "{column} is {value:g}, and scores go from {low:g} to {high:g} ({where}): "
    "correct it, or leave the cell empty",
    "missing_case": "{file} has no case for row {row} ({where}): add it, or leave the row out",
}

_NOTHING = Fault("missing_value")


class RatedPair(Noun):
    """One pair that people have scored.

    `group` is what is resampled together: the case, or the reference's own words where nothing
    says the case. `labels` are other columns that were requested, such as the organ. `scores` are
    by rater or criterion; a missing rating is not in it.
    """

    pair: Pair
    group: str
    set: str = ""
    labels: Mapping[str, str] = {}
    scores: Mapping[str, float]


class Sheet(Noun):
    """The pairs of a sheet, what was wrong with its other rows, and notes on how it was read.

    `wide` is HARE's layout, where ids are those of the row and of the candidate. `not_raters` are
    columns of numbers that were not taken for a rater's when raters were guessed.
    """

    rated: tuple[RatedPair, ...]
    wide: bool = False
    not_raters: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Plan:
    """Where everything stands; `scores` are columns by name, for each candidate column."""

    source: PairSource
    wide: bool
    scores: Mapping[str, Mapping[str, str]]
    group: str | None
    set: str | None
    labels: tuple[str, ...]
    within: Range | None
    cases: Mapping[int, str | Fault] | None
    not_raters: tuple[str, ...] = ()


def read_sheet(
    sheet: Path | PairSource,
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
    """Read an expert sheet, a file or pairs that were opened; columns are guessed if not named.

    `cases` is a table of row (from 0) and case, for HARE's layout; `labels` are further columns to
    keep as they are; `within` are the lowest and the highest score there can be.
    """
    if isinstance(sheet, Path):
        demand_table(sheet)
        source, path = open_source([sheet], columns, encoding), sheet
    else:
        source, path = sheet, Path(sheet.name)
    source = replace(source, table=_in_memory(source.table))
    table, layout = source.table, source.layout
    wide = _is_wide(layout, table)
    group_column = _column(group, GROUP_NAMES, table, path)
    set_column = _column(set, SET_NAMES, table, path)
    demand_columns(labels, table.columns, path)
    used = (*layout.columns, group_column, set_column, *tuple(labels))
    if cases is not None and not wide:
        raise InputError(f"{cases} cannot be used: {path} is in long layout; name a group column")
    if cases is not None and group is not None:
        raise InputError(f"{cases} and the column {group!r} both say the case: give one of them")
    chosen, left = (
        (_paired(table, layout, scores, path), ())
        if wide
        else _single(table, layout, scores, used, path)
    )
    plan = _Plan(
        source=source,
        wide=wide,
        scores=chosen,
        not_raters=left,
        group=group_column,
        set=set_column,
        labels=tuple(labels),
        within=within,
        cases=None if cases is None else cases_of_rows(table, cases, path),
    )
    return _read(plan)


def _in_memory(table: RecordTable) -> RecordTable:
    """The table with its rows read, and with the columns that come up only in later rows."""
    records = list(table.read([name for name in table.columns if name]))
    later = (name for record in records for name in record.values or ())
    found = tuple(name for name in dict.fromkeys((*table.columns, *later)) if name)
    return replace(table, columns=found, read=lambda _: iter(records))


def _column(named: str | None, usual: Sequence[str], table: RecordTable, path: Path) -> str | None:
    """The column that was named, or one that has a usual name, or none."""
    if named is not None:
        demand_columns((named,), table.columns, path)
        return named
    by_name = columns_by_name(table.columns)
    return next((by_name[name] for name in usual if name in by_name), None)


def _is_wide(layout: Layout, table: RecordTable) -> bool:
    by_name = columns_by_name(table.columns)
    return all(f"scoring_{normalised(name)}" in by_name for name in layout.candidates)


def _paired(
    table: RecordTable, layout: Layout, named: Sequence[str] | None, path: Path
) -> dict[str, dict[str, str]]:
    """The scores of HARE's layout: one column beside each candidate."""
    if named is not None and list(named) != [EXPERT]:
        raise InputError(f"{path} is in HARE's layout: its only score is called {EXPERT!r}")
    by_name = columns_by_name(table.columns)
    return {name: {EXPERT: by_name[f"scoring_{normalised(name)}"]} for name in layout.candidates}


def _single(
    table: RecordTable,
    layout: Layout,
    named: Sequence[str] | None,
    used: Sequence[str | None],
    path: Path,
) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """The scores of the long layout: columns that were named, or a guess, and what that left."""
    if len(layout.candidates) > 1:
        raise InputError(
            f"{path} has {len(layout.candidates)} candidate columns "
            f"({', '.join(layout.candidates)}), and which of them was scored is not clear: give "
            "each a column `Scoring NAME`, or each text a row of its own"
        )
    free = [name for name in table.columns if name not in used]
    demand_columns(named or (), table.columns, path)
    chosen: Sequence[str] = named or ()
    left: tuple[str, ...] = ()
    if named is None:
        numbers = {name: found for name in free if (found := _numbers(name, table))}
        chosen, left = guess_raters(numbers, path)
    if not chosen:
        raise InputError(
            f"{path} has no column of scores; name those to use: {naming_raters()}"
            f"{columns_found(table.columns)}"
        )
    return {layout.candidates[0]: {name: name for name in chosen}}, left


def _numbers(name: str, table: RecordTable) -> list[float]:
    """The numbers of a column, if most of what stands in it are numbers."""
    cells = [rating_of(record.values.get(name)) for record in table.read(()) if record.values]
    numbers = [cell for cell in cells if isinstance(cell, float)]
    return numbers if len(numbers) * 2 > sum(cell is not None for cell in cells) else []


def _read(plan: _Plan) -> Sheet:
    by_number = {record.number: record for record in plan.source.table.read(())}
    rated: list[RatedPair] = []
    problems: dict[Problem, None] = {}
    for row in plan.source.rows():
        outcome = _rated(plan, row, by_number[row.number])
        if isinstance(outcome, RatedPair):
            rated.append(outcome)
        else:
            problems |= dict.fromkeys(outcome)
    return Sheet(
        rated=tuple(rated),
        wide=plan.wide,
        not_raters=plan.not_raters,
        problems=tuple(problems),
        notes=plan.source.notes,
    )


def _rated(plan: _Plan, row: PairRow, record: Record) -> RatedPair | tuple[Problem, ...]:
    """One row of one system: what was scored, or everything that is wrong with it."""
    if record.values is None:
        return row.problems
    values = record.values
    candidate = (
        plan.source.layout.candidates[0]
        if plan.source.layout.system or not plan.wide
        else row.system
    )
    assert candidate is not None, "without a column for it, the candidate column is the system"
    columns = plan.scores[candidate]
    ratings = {name: rating_of(values.get(at), plan.within) for name, at in columns.items()}
    group = _group(plan, record, values)
    subset = "" if plan.set is None else _label(values.get(plan.set))
    labels = {name: _label(values.get(name)) for name in plan.labels}
    cells: list[tuple[str, object]] = [(plan.group or "case", group), (plan.set or "set", subset)]
    cells += labels.items()
    cells += [(columns[name], rating) for name, rating in ratings.items()]
    wrong = [_problem(plan, cell, record, name) for name, cell in cells if isinstance(cell, Fault)]
    if row.pair is None or wrong or isinstance(group, Fault) or isinstance(subset, Fault):
        return (*row.problems, *wrong)
    pair = row.pair.model_copy(update={"id": f"{row.id}.{candidate}"}) if plan.wide else row.pair
    return RatedPair(
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


def _problem(plan: _Plan, fault: Fault, record: Record, column: str) -> Problem:
    """What is wrong with a cell, as a problem."""
    if fault.kind not in SENTENCES:
        return plan.source.table.named(fault).problem(record.place, column)
    text = SENTENCES[fault.kind].format(where=record.place, column=column, **fault.details)
    return Problem(code=fault.kind, message=shown(text), column=column)
