"""Tables of cases: `test_x.tsv` holds those of the tests in `test_x.py` beside it.

A line `=== NAME` opens the table of a test, the next one names its arguments. Cells are read by
the types of these: texts as they stand (`''` is empty, `\\n` the end of a line), members of an
`Enum` by their names, numbers also as fractions, and anything else as a Python literal.
"""

import ast
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import pytest

Test = TypeVar("Test", bound=Callable[..., None])


@cache
def _tables(module: str) -> dict[str, list[list[str]]]:
    _, *tables = Path(module).with_suffix(".tsv").read_text("utf-8").split("=== ")
    lines = (table.strip("\n").split("\n") for table in tables)
    return {name: [row.split("\t") for row in rows] for name, *rows in lines}


def rows_of(test: Callable[..., None]) -> list[list[str]]:
    return _tables(test.__globals__["__file__"])[test.__name__][1:]


def cell(text: str, kind: Any) -> Any:
    if kind == str | None and text == "None":
        return None
    if kind in (str, str | None):
        return "" if text == "''" else text.replace("\\n", "\n")
    if kind is float:
        return float(Fraction(text))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[text]
    return ast.literal_eval(text)


def from_table(test: Test) -> Test:
    """The test with each row of the table that has its name."""
    kinds = get_type_hints(test)
    names, *rows = _tables(test.__globals__["__file__"])[test.__name__]
    values = [tuple(map(cell, row, (kinds[name] for name in names))) for row in rows]
    mark = pytest.mark.parametrize(names, values)
    if len(names) == 1:
        mark = pytest.mark.parametrize(names[0], [value for (value,) in values])
    marked: Test = mark(test)
    return marked
