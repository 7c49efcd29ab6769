"""CSV, TSV and their kin, read so that a broken row costs no other row.

A quote that is opened and never closed would swallow the rest of the file. So when the quotes of
a record do not match, only its first physical line is the broken row, and reading continues with
the next one. A record whose quotes match and whose columns are too many or too few is broken as a
whole, unless the line after its first is a row in itself: then a quote was left open, and closed
by chance further down.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

from histoeval.errors import InputError
from histoeval.io.tables.columns import Columns, recognised
from histoeval.io.tables.encoding import Lines, open_lines
from histoeval.io.tables.records import RECORD_LIMIT, Fault, Record, RecordTable, place, shown

# What the tables of `generate` begin with. In them, and only there, `formula_proof` is undone.
OWN_HEADER = ("id", "image", "system", "level", "specimen", "report")

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_PROOF = re.compile(rf"\A'(?={_FORMULA.pattern})")  # '=1 is =1 with a proof, ''=1 is '=1 with one


def formula_proof(cell: str) -> str:
    """Keep spreadsheets from reading a cell as a formula: put an apostrophe before = + - @."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def csv_text(records: Sequence[Mapping[str, Any]], line_end: str = "\n") -> str:
    """Format records as CSV, with all columns of any record; no cell is a formula."""
    names = list(dict.fromkeys(name for record in records for name in record))
    text = StringIO()
    writer = csv.writer(text, lineterminator=line_end)
    writer.writerow(map(formula_proof, names))
    for record in records:
        cells = (record.get(name) for name in names)
        writer.writerow([formula_proof(cell) if isinstance(cell, str) else cell for cell in cells])
    return text.getvalue()


class RecordTooLongError(Exception):
    """A record has grown over the limit."""


def open_delimited(path: Path, encoding: str, named: Columns, delimiters: str) -> RecordTable:
    """Open a table, split by the delimiter that fits its header best."""
    csv.field_size_limit(max(csv.field_size_limit(), 2 * RECORD_LIMIT))
    with open_lines(path, encoding) as lines:
        line = next((line for line in lines if not line.isspace()), None)
        if line is None:
            raise InputError(f"{path} holds nothing but blank lines")

        def fit(delimiter: str) -> tuple[int, int]:
            names = line.rstrip("\r\n").replace('"', "").split(delimiter)
            return recognised(names, named), len(names)

        delimiter = max(delimiters, key=fit)
        lines.take_back([line])
        try:
            columns = RecordReader(lines, delimiter).header()
        except StopIteration:
            raise InputError(f"{path} holds no names of columns") from None
        except (csv.Error, RecordTooLongError) as error:
            raise InputError(f"the header of {path} cannot be read: {error}") from error
    counts = Counter(name for name in columns if name)
    if repeated := [shown(name) for name, count in counts.items() if count > 1]:
        raise InputError(f"{path} has more than one column called {', '.join(map(repr, repeated))}")
    reader = partial(_read, path, encoding, delimiter, columns)
    return RecordTable(columns, reader, half_character="not_utf8")


def _read(
    path: Path, encoding: str, delimiter: str, columns: Sequence[str], _needed: Sequence[str]
) -> Iterator[Record]:
    is_generated = tuple(columns[: len(OWN_HEADER)]) == OWN_HEADER
    with open_lines(path, encoding) as lines:
        reader = RecordReader(lines, delimiter)
        reader.header()
        for number, (line, cells) in enumerate(reader.records(), start=1):
            if isinstance(cells, Fault):
                problem = cells.problem(place(number, line, lines.number))
                yield Record(number, None, problem, line, lines.position())
                continue
            texts = [_PROOF.sub("", cell) for cell in cells] if is_generated else cells
            values = dict(zip(columns, texts, strict=True))
            yield Record(number, values, None, line, lines.position())


# The complaints of the csv module in plain words; any other is of text after a closing quote.
_QUOTE_REASONS = {
    "end of data": "one is opened and never closed",
    "new-line": "a line break stands outside of them",
}


class RecordReader:
    """Python's csv reader; it remembers the physical lines of the last record."""

    def __init__(self, lines: Lines, delimiter: str) -> None:
        self._lines = lines
        self._delimiter = delimiter
        self._taken: list[str] = []
        self._size = 0
        self._width = 0
        self._csv = csv.reader(self, delimiter=delimiter, strict=True)
        self._uncertain = False
        self._in_long_record = False

    def __iter__(self) -> RecordReader:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self._taken.append(line)
        self._size += len(line)
        if self._size > RECORD_LIMIT:
            raise RecordTooLongError(f"longer than {RECORD_LIMIT // 2**20} MiB")
        return line

    def header(self) -> tuple[str, ...]:
        """Read the first record that is not blank; it sets the number of columns."""
        while not (fields := self._record()):
            pass
        self._width = len(fields)
        return tuple(fields)

    def _record(self) -> list[str]:
        """Read the fields of the next record; none for a blank line."""
        self._taken = []
        self._size = 0
        fields = next(self._csv)
        return [] if len(fields) == 1 and not fields[0].strip() else fields

    def records(self) -> Iterator[tuple[int, list[str] | Fault]]:
        """Yield each record or its fault, with the number of its first line.

        After a record that is too long, lines are skipped up to the next good one.
        """
        while True:
            line = self._lines.number + 1
            try:
                fields = self._record()
            except StopIteration:
                return
            except RecordTooLongError:
                outcome: list[str] | Fault = self._give_back(Fault("record_too_long"))
            except csv.Error as error:
                reasons = (text for part, text in _QUOTE_REASONS.items() if part in str(error))
                reason = next(reasons, "text stands after a closing one")
                outcome = self._give_back(Fault("broken_quotes", {"reason": reason}))
            else:
                if not fields:
                    continue
                outcome = self._checked(fields)
            if self._in_long_record and isinstance(outcome, Fault):
                continue
            self._in_long_record = isinstance(outcome, Fault) and outcome.kind == "record_too_long"
            yield line, outcome

    def _checked(self, fields: list[str]) -> list[str] | Fault:
        if len(fields) != self._width:
            fault = Fault("wrong_column_count", {"found": len(fields), "expected": self._width})
            # A quote was left open if the second line is a row in itself.
            line = self._taken[1] if len(self._taken) > 1 else ""
            if not line or self._has_stray_quote(line) or "\r" in line.rstrip("\r\n"):
                return fault
            width = len(next(csv.reader([line], delimiter=self._delimiter)))
            return self._give_back(fault) if width == self._width else fault
        if self._uncertain and self._has_stray_quote("".join(self._taken)):
            reason = "this may be the end of the broken row before it"
            return self._give_back(Fault("broken_quotes", {"reason": reason}))
        self._uncertain = False
        return fields

    def _give_back(self, fault: Fault) -> Fault:
        """Reduce the broken record to its first line; the others may be rows of their own."""
        self._uncertain = True
        self._lines.take_back(self._taken[1:])
        return fault

    def _has_stray_quote(self, record: str) -> bool:
        """True if a quote is not around a field, as in a text that was cut."""
        edge = re.escape(self._delimiter)
        quoted = rf'(?<![^{edge}])"[^"]*(?:""[^"]*)*"(?=[{edge}\r\n]|\Z)'
        return '"' in re.sub(quoted, "", record)
