"""The cells of an expert sheet: scores, and which rows are of one case by a table beside it."""

import re
from decimal import Decimal
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.files import demand_rows, open_table
from histoeval.io.tables.cell_checks import name_of
from histoeval.io.tables.columns import Columns, columns_by_name, columns_found
from histoeval.io.tables.formats import RecordTable
from histoeval.io.tables.row_faults import Fault, kind_of

Range = tuple[float, float]

NUMBER = re.compile(r"[+-]?(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
LARGEST = 1e300
"""What a score looks like, and what none exceeds."""

MISCOUNTING = frozenset({"broken_quotes", "record_too_long", "wrong_column_count"})
"""After such trouble, what is one row and what are two is a guess."""

_NOTHING = Fault("missing_value")


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
        return _checked(float(text.strip()), within)
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


def cases_of_rows(table: RecordTable, cases: Path, path: Path) -> dict[int, str | Fault]:
    """The case of every row by its number, where rows can be counted."""
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
    table = open_table(path, Columns(id="row", system="case")).table
    by_name = columns_by_name(table.columns)
    if missing := [name for name in ("row", "case") if name not in by_name]:
        raise InputError(f"{path} has no column {missing[0]!r}{columns_found(table.columns)}")
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
            raise InputError(f"{path}: {table.named(case).problem(record.place, 'case').message}")
        if int(row) in cases:
            raise InputError(f"{path} has row {int(row)} more than once ({record.place})")
        cases[int(row)] = case
    return cases
