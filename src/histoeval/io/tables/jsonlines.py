"""JSON lines: one object per line."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from histoeval.io.tables.cell_checks import half_character
from histoeval.io.tables.formats import Record, RecordTable, columns_of
from histoeval.io.tables.lines import open_lines
from histoeval.io.tables.row_faults import (
    RECORD_LIMIT,
    Fault,
    RepeatedKeys,
    kind_of,
    place,
    where_json_breaks,
)


def open_json_lines(path: Path, encoding: str) -> RecordTable:
    """A table with one JSON object per line; blank lines are passed over."""
    read = partial(read_json_lines, path, encoding)
    return RecordTable(columns_of(read(()), str(path)), read)


def read_json_lines(path: Path, encoding: str, _needed: Sequence[str] = ()) -> Iterator[Record]:
    """A record for each line that is not blank."""
    with open_lines(path, encoding) as lines:
        number = 0
        for line in lines:
            if line.isspace():
                continue
            number += 1
            outcome = _object(line)
            if isinstance(outcome, Fault):
                trouble = outcome.problem(place(number, lines.number))
                yield Record(number, None, trouble, lines.number, lines.position())
            else:
                yield Record(number, outcome, None, lines.number, lines.position())


def _object(line: str) -> dict[str, object] | Fault:
    if len(line) > RECORD_LIMIT:
        return Fault("record_too_long")
    if fault := bad_byte(line):
        return fault
    repeated = RepeatedKeys()
    try:
        value = json.loads(line, object_pairs_hook=repeated)
    except json.JSONDecodeError as error:
        return Fault("broken_json", {"reason": where_json_breaks(error.msg, error.pos)})
    except (ValueError, RecursionError) as error:
        return Fault("broken_json", {"reason": str(error)})
    if fault := repeated.take():
        return fault
    return value if isinstance(value, dict) else Fault("not_an_object", {"kind": kind_of(value)})


def bad_byte(text: str) -> Fault | None:
    """The first byte of a piece of JSON that could not be decoded."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        return half_character(text, error.start)._replace(kind="unreadable_line")
    return None
