"""Rows of results as Parquet: every number in a column of its own, lists and objects as JSON text.

The column `layout` has each row with names of columns in the place of values, and brings the line
back as it was: `"id"` is the value of that column, `["errors"]` the JSON in it, and an empty list
or object is itself.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from pydantic_core import from_json, to_json

LAYOUT = "layout"
SCORES, PARTS, VALUE = "scores", "parts", "value"
ROW_GROUP = 4096
"""Rows that are written and read together; never another number, so that bytes do not change."""

Place = tuple[str, ...]
"""Where a value stands in a row: the names that lead to it."""


class RowColumns:
    """The columns of a file, in the order in which rows first have them; JSON comes last."""

    def __init__(self, rows: Iterable[Mapping[str, Any]]) -> None:
        self.kinds: dict[Place, str] = {}
        for row in rows:
            _laid_out(row, self._learn)
        taken = {LAYOUT}
        ordered = sorted(self.kinds, key=lambda place: self.kinds[place] == "json")
        self.names = {place: _free(_name(place), taken) for place in ordered}

    def _learn(self, place: Place, value: Any) -> None:
        """Note what a column holds; where rows disagree, it holds JSON."""
        known, kind = self.kinds.get(place, ""), _kind(value)
        self.kinds[place] = known or kind if not (known and kind) or known == kind else "json"

    def schema(self) -> dict[str, Any]:
        """The type of each column for polars."""
        import polars as pl

        types = {"int": pl.Int64, "float": pl.Float64}
        named = {name: types.get(self.kinds[at], pl.String) for at, name in self.names.items()}
        return {**named, LAYOUT: pl.String}

    def cells(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row by columns."""
        found: dict[str, Any] = {}

        def put(place: Place, value: Any) -> Any:
            name = self.names[place]
            if self.kinds[place] != "json":
                found[name] = value
                return name
            if value in ([], {}):
                return value
            found[name] = None if value is None else to_json(value).decode()
            return [name]

        found[LAYOUT] = to_json(_laid_out(row, put)).decode()
        return found


def _laid_out(row: Mapping[str, Any], put: Callable[[Place, Any], Any]) -> dict[str, Any]:
    """A row with what `put` returns in the place of each value that has a column."""
    return {
        name: {metric: _result(metric, result, put) for metric, result in value.items()}
        if name == SCORES
        else put((name,), value)
        for name, value in row.items()
    }


def _result(
    metric: str, result: Mapping[str, Any], put: Callable[[Place, Any], Any]
) -> dict[str, Any]:
    def laid(field: str, value: Any) -> Any:
        if field == PARTS:
            return {part: put((SCORES, metric, PARTS, part), n) for part, n in value.items()}
        return value if value in ([], {}) else put((SCORES, metric, field), value)

    return {field: laid(field, value) for field, value in result.items()}


def _name(place: Place) -> str:
    """`bleu` for its value, `bleu.precision_1` for a part of it, `bleu.evidence` for the rest."""
    if place[0] != SCORES:
        return place[0]
    _, metric, field, *part = place
    return metric if field == VALUE else ".".join([metric, *(part or [field])])


def _free(name: str, taken: set[str]) -> str:
    """The name, or one like it that no other column has."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _kind(value: Any) -> str:
    kinds = {type(None): "", str: "text", float: "float"}
    if type(value) is int and -(2**63) <= value < 2**63:
        return "int"
    return kinds.get(type(value), "json")


def write_table(lines: Callable[[], Iterable[bytes]], file: BinaryIO) -> None:
    """Write lines of JSON as Parquet, in two passes and in constant memory."""
    import polars as pl
    from polars.io.plugins import register_io_source

    columns = RowColumns(map(from_json, lines()))
    schema = columns.schema()

    def frames(*_: Any) -> Iterator[pl.DataFrame]:
        rows = map(from_json, lines())
        while few := list(islice(rows, ROW_GROUP)):
            yield pl.DataFrame(list(map(columns.cells, few)), schema=schema)

    try:
        register_io_source(frames, schema=schema).sink_parquet(
            file, compression="zstd", row_group_size=ROW_GROUP, engine="streaming"
        )
    except pl.exceptions.PolarsError as error:
        raise _of_system(str(error)) from error


def _of_system(message: str) -> OSError:
    """The error of the system that polars quotes, such as that of a full disk."""
    number = re.search(r"\(os error (\d+)\)", message)
    return (
        OSError(message) if number is None else OSError(int(number[1]), os.strerror(int(number[1])))
    )


def read_table(path: Path) -> Iterator[bytes]:
    """The lines that a file was written from; a `ValueError` where it is not such a file."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        for start in range(0, frame.select(pl.len()).collect().item(), ROW_GROUP):
            for cells in frame.slice(start, ROW_GROUP).collect().iter_rows(named=True):
                yield _line(_filled(_layout(cells[LAYOUT]), cells))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, LookupError) as error:
        raise ValueError(f"not a Parquet file of rows: {error}") from error


@lru_cache(maxsize=64)
def _layout(text: str) -> Any:
    return from_json(text)


def _filled(layout: Any, cells: Mapping[str, Any]) -> Any:
    """A layout with the values of a row."""
    if isinstance(layout, str):
        return cells[layout]
    if isinstance(layout, list):
        text = cells[layout[0]] if layout else "[]"
        return None if text is None else from_json(text)
    return {name: _filled(each, cells) for name, each in layout.items()}


def _line(row: dict[str, Any]) -> bytes:
    """A row as its verb writes it: scores by Pydantic, the others by Python."""
    if SCORES in row:
        return to_json(row) + b"\n"
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"
