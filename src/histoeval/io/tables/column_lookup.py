"""The columns of a table by their names."""

from __future__ import annotations

import difflib
from pathlib import Path

from histoeval.errors import InputError
from histoeval.io.files import ONE_TABLE, check_there, format_of
from histoeval.io.tables.columns import normalised
from histoeval.io.tables.formats import RecordTable
from histoeval.io.tables.row_faults import shown


def check_table(path: Path) -> str:
    """The format of a file, which must be a table."""
    check_there(path)
    kind = format_of(path, ONE_TABLE)
    if kind in ("text", "folder"):
        raise InputError(f"{path} has no columns of scores. What can be read: {ONE_TABLE}")
    return kind


def demanded_column(named: str, table: RecordTable, path: Path) -> str:
    """A column that was named, which must be there."""
    if named in table.columns:
        return named
    near = difflib.get_close_matches(named, table.columns, n=1)
    hint = f" (did you mean {shown(near[0])!r}?)" if near else ""
    raise InputError(f"{path} has no column {named!r}{hint}{columns_found(table)}")


def columns_found(table: RecordTable) -> str:
    """The columns there are, for whoever has named one that is not."""
    names = [repr(shown(name[:40])) for name in table.columns[:20]]
    return f". Columns found: {', '.join(names)}{' …' if len(table.columns) > 20 else ''}"


def columns_by_name(table: RecordTable) -> dict[str, str]:
    """Columns by their names as these are compared; of two equal ones, the left."""
    return {normalised(name): name for name in reversed(table.columns)}
