"""Expert sheets: pairs that people have scored, read whole, as no such sheet is long.

| layout | columns |
|---|---|
| HARE's | the reference, candidates called `0`, `1`, …, and beside them `Scoring 0`, … |
| long | reference and candidate, and a column of numbers for each rater or criterion |
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem
from histoeval.io.files import NO_VALUE, demand_rows, demand_table, open_table
from histoeval.io.pairs import PairRow, PairSource, open_source
from histoeval.io.tables.columns import (
    Columns,
    columns_by_name,
    columns_found,
    demand_columns,
    normalised,
)
from histoeval.io.tables.records import Fault, Record, RecordTable, kind_of, name_of
from histoeval.report import Noun, Pair
from histoeval.resources import load_toml

EXPERT = "expert"  # what the one score of HARE's layout is called
GROUP_NAMES = ("case", "case_id")
SET_NAMES = ("set",)  # names by which the columns of cases and of subsets are known
Range = tuple[float, float]

NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LARGEST = 1e300  # what a score looks like, and what none exceeds
# After such trouble, what is one row and what are two is a guess.
MISCOUNTING = frozenset({"broken_quotes", "record_too_long", "wrong_column_count"})

# A word of a column's name that starts so names a person.
RATER = re.compile(
    r"annotator|assessor|clinician|doctor|evaluator|examiner|expert|grader|human|observer"
    r"|pathologist|physician|rater|reader|reviewer|scorer|specialist|r\d+$"
)

# On one scale, the highest score of one rater is at most this many times that of another.
SPREAD = 2.0

# A scale starts below this, or below half of the range of its scores: ages and years do not.
LOWEST = 5.0

MIN_DISTINCT = 6  # from so many rows on, whole numbers that never come up twice number the rows


class RatedPair(Noun):
    """One pair that people have scored."""

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


def _label(value: object) -> str | Fault:
    """Read a name from a cell; an empty cell is an empty name."""
    label = name_of(value, NO_VALUE)
    return "" if label is NO_VALUE else label


def read_sheet(
    sheet: Path | PairSource,
    *,
    cases: Path | None = None,
    scores: Sequence[str] | None = None,
    group: str | None = None,
    set: str | None = None,  # noqa: A002 - the word for it
    labels: Sequence[str] = (),
    within: Range | None = None,
) -> Sheet:
    """Read an expert sheet, a file or pairs that were opened; columns are guessed if not named.

    `cases` is a table of row (from 0) and case, for HARE's layout; `labels` are further columns to
    keep as they are; `within` are the lowest and the highest score there can be.
    """
    if isinstance(sheet, Path):
        demand_table(sheet)
        source, path = open_source([sheet]), sheet
    else:
        source, path = sheet, Path(sheet.name)
    # The rows are read once, and so are columns that come up only in later rows.
    table, layout = source.table, source.layout
    all_records = list(table.read([name for name in table.columns if name]))
    later_names = (name for record in all_records for name in record.values or ())
    names = tuple(name for name in dict.fromkeys((*table.columns, *later_names)) if name)
    table = replace(table, columns=names, read=lambda _: iter(all_records))
    source = replace(source, table=table)
    by_name = columns_by_name(table.columns)
    score_columns = {name: by_name.get(f"scoring_{normalised(name)}") for name in layout.candidates}
    rater_columns = {
        name: {EXPERT: column} for name, column in score_columns.items() if column is not None
    }
    is_wide = len(rater_columns) == len(score_columns)
    demand_columns((group, set, *labels), table.columns, path)
    group_column = group or next((by_name[name] for name in GROUP_NAMES if name in by_name), None)
    set_column = set or next((by_name[name] for name in SET_NAMES if name in by_name), None)
    if cases is not None and not is_wide:
        raise InputError(f"{cases} cannot be used: {path} is in long layout; name a group column")
    if cases is not None and group is not None:
        raise InputError(f"{cases} and the column {group!r} both say the case: give one of them")
    not_raters: tuple[str, ...] = ()
    if not is_wide:
        used_columns = (*layout.columns, group_column, set_column, *labels)
        raters, not_raters = _raters(source, scores, used_columns, path)
        rater_columns = {layout.candidates[0]: {name: name for name in raters}}
    elif scores is not None and list(scores) != [EXPERT]:
        raise InputError(f"{path} is in HARE's layout: its only score is called {EXPERT!r}")
    case_of = None if cases is None else cases_of_rows(table, cases, path)

    def rated_pair(row: PairRow, record: Record) -> RatedPair | tuple[Problem, ...]:
        """Return the rated pair of one row of one system, or all its problems."""
        if record.values is None:
            return row.problems
        values = record.values
        candidate = layout.candidates[0] if layout.system or not is_wide else row.system
        assert candidate is not None, "without a column for it, the candidate column is the system"
        columns = rater_columns[candidate]
        ratings = {name: rating_of(values.get(column), within) for name, column in columns.items()}
        case: str | Fault | None = None
        if case_of is not None:
            case = case_of[record.number]
        elif group_column is not None:
            case = name_of(values.get(group_column), NO_VALUE)
        subset = "" if set_column is None else _label(values.get(set_column))
        own_labels = {name: _label(values.get(name)) for name in labels}
        row_problems = source.problems_in(
            record,
            (group_column or "case", case),
            (set_column or "set", subset),
            *own_labels.items(),
            *((columns[name], rating) for name, rating in ratings.items()),
        )
        pair = row.pair
        if pair is None or row_problems or isinstance(case, Fault) or isinstance(subset, Fault):
            return (*row.problems, *row_problems)
        return RatedPair(
            pair=pair.model_copy(update={"id": f"{row.id}.{candidate}"}) if is_wide else pair,
            group=" ".join((case or pair.reference).split()),
            set=subset,
            labels={name: label for name, label in own_labels.items() if isinstance(label, str)},
            scores={name: rating for name, rating in ratings.items() if isinstance(rating, float)},
        )

    records = {record.number: record for record in all_records}
    pairs: list[RatedPair] = []
    problems: dict[Problem, None] = {}
    for row in source.rows():
        outcome = rated_pair(row, records[row.number])
        if isinstance(outcome, RatedPair):
            pairs.append(outcome)
        else:
            problems |= dict.fromkeys(outcome)
    return Sheet(
        rated=tuple(pairs),
        wide=is_wide,
        not_raters=not_raters,
        problems=tuple(problems),
        notes=source.notes,
    )


def _raters(
    source: PairSource,
    requested: Sequence[str] | None,
    used_columns: Sequence[str | None],
    path: Path,
) -> tuple[Sequence[str], tuple[str, ...]]:
    table, candidates = source.table, source.layout.candidates
    if len(candidates) > 1:
        raise InputError(
            f"{path} has {len(candidates)} candidate columns "
            f"({', '.join(candidates)}), and which of them was scored is not clear: give "
            "each a column `Scoring NAME`, or each text a row of its own"
        )
    demand_columns(requested or (), table.columns, path)
    raters: Sequence[str] = requested or ()
    not_raters: tuple[str, ...] = ()
    if requested is None:
        numbers: dict[str, list[float]] = {}
        for name in table.columns:
            cells = [
                rating_of(record.values.get(name)) for record in table.read(()) if record.values
            ]
            column = [cell for cell in cells if isinstance(cell, float)]
            # Most of what stands in it must be numbers.
            if name not in used_columns and len(column) * 2 > sum(
                cell is not None for cell in cells
            ):
                numbers[name] = column
        raters, not_raters = guess_raters(numbers, path)
    if not raters:
        raise InputError(
            f"{path} has no column of scores; name those to use: {naming_raters()}"
            f"{columns_found(table.columns)}"
        )
    return raters, not_raters


def guess_raters(
    columns: Mapping[str, Sequence[float]], path: Path
) -> tuple[list[str], tuple[str, ...]]:
    """Split columns of numbers into raters and others.

    Raters are those whose names say so. Where no name does, they are all columns that may hold
    scores, if there are several and they share a scale; else nothing is guessed.
    """
    word_lists = load_toml("io/sheets.toml")
    words = {name: normalised(name).split("_") for name in columns}
    plausible = [
        name for name in columns if _last_word(words[name]) not in word_lists["not_a_score"]
    ]
    raters = [name for name in plausible if any(map(RATER.match, words[name]))]
    non_metrics = [name for name in plausible if set(word_lists["metric"]).isdisjoint(words[name])]
    raters = raters or [
        name for name in non_metrics if not set(word_lists["score"]).isdisjoint(words[name])
    ]
    if not raters and non_metrics:
        raters = [name for name in non_metrics if not _numbers_rows(columns[name])]
        if not _is_one_scale([columns[name] for name in raters]):
            ranges = [
                f"{name!r} ({min(numbers):g} to {max(numbers):g})"
                for name, numbers in columns.items()
            ]
            raise InputError(
                f"{path}: which columns hold experts' scores is not clear; name each: "
                f"{naming_raters()}. Columns of numbers: {', '.join(ranges)}"
            )
    return raters, tuple(name for name in columns if name not in raters)


def naming_raters() -> str:
    return argument("raters", ["NAME"]) or argument("rater", "NAME")


def _last_word(words: Sequence[str]) -> str:
    return next((stem for word in reversed(words) if (stem := word.rstrip("0123456789"))), "")


def _numbers_rows(numbers: Sequence[float]) -> bool:
    """True for a column that numbers its rows: whole, one after the other or none twice."""
    if len(numbers) < 3 or not all(number.is_integer() for number in numbers):
        return False
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    is_distinct = len(set(numbers)) == len(numbers)
    return steps in ({1.0}, {-1.0}) or (is_distinct and len(numbers) >= MIN_DISTINCT)


def _is_one_scale(columns: Sequence[Sequence[float]]) -> bool:
    """True if several columns have about the same range; a single one is no evidence."""
    if len(columns) < 2:
        return False
    lows, highs = [min(column) for column in columns], [max(column) for column in columns]
    highest_start = max(LOWEST, (max(highs) - min(lows)) / 2)
    return max(highs) <= SPREAD * min(highs) and min(lows) <= highest_start


def rating_of(value: object, within: Range | None = None) -> float | Fault | None:
    """Return the score in a cell, None if it is empty, or its fault."""
    if isinstance(value, str):
        # Python itself would take `nan` and `1_0` for numbers, and float keeps some blanks.
        text = value.strip()
        if not NUMBER.fullmatch(text):
            return Fault("not_a_number", {"value": repr(value[:40])}) if text else None
        value = float(text)
    if value is None or isinstance(value, Fault):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return Fault("not_a_number", {"value": kind_of(value)})
    if value != value:  # noqa: PLR0124 - so is a NaN known, of whatever type; it says nothing
        return None
    if not -LARGEST <= value <= LARGEST:
        return Fault("not_a_number", {"value": "infinite"})
    number = float(value)
    if within is not None and not within[0] <= number <= within[1]:
        return Fault("out_of_range", {"value": number, "low": within[0], "high": within[1]})
    return number


def cases_of_rows(table: RecordTable, cases: Path, path: Path) -> dict[int, str | Fault]:
    """Map the number of each row to its case, if rows can be counted."""
    records = list(table.read(()))
    for record in records:
        if record.problem is not None and record.problem.code in MISCOUNTING:
            raise InputError(
                f"the rows of {path} cannot be counted, and so not matched with {cases}: "
                f"{record.problem.message}"
            )
    case_by_row = read_cases(cases)
    if (last_row := max(case_by_row)) >= len(records):
        raise InputError(
            f"{cases} has a case for row {last_row}, and {path} has the rows 0 to "
            f"{len(records) - 1}, counted from 0: is it for another sheet?"
        )
    return {
        row + 1: case_by_row.get(row, Fault("missing_case", {"file": cases.name, "row": row}))
        for row in range(len(records))
    }


def read_cases(path: Path) -> dict[int, str]:
    """Read the case of each row of a sheet, counted from 0, from the columns row and case."""
    table = open_table(path, Columns(id="row", system="case")).table
    by_name = columns_by_name(table.columns)
    if missing := [name for name in ("row", "case") if name not in by_name]:
        raise InputError(f"{path} has no column {missing[0]!r}{columns_found(table.columns)}")
    used_columns = (by_name["row"], by_name["case"])
    demand_rows(table, used_columns, path)
    cases: dict[int, str] = {}
    for record in table.read(used_columns):
        if record.values is None:
            assert record.problem is not None, "a record has values or a problem"
            raise InputError(f"{path}: {record.problem.message}")
        row = rating_of(record.values.get(used_columns[0]))
        case = name_of(record.values.get(used_columns[1]), NO_VALUE)
        if not isinstance(row, float) or not row.is_integer() or row < 0:
            raise InputError(f"{path}: row is not the number of a row ({record.place})")
        if isinstance(case, Fault):
            raise InputError(f"{path}: {table.named(case).problem(record.place, 'case').message}")
        if int(row) in cases:
            raise InputError(f"{path} has row {int(row)} more than once ({record.place})")
        cases[int(row)] = case
    return cases
