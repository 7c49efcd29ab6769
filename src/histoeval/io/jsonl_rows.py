"""Files of what was read in reports: one line per text, written as it is read.

`OUT.jsonl` has a row for each text, in the order of the input. `OUT.jsonl.meta.json` beside it says
what made them: it is written first, and once more at the end with what all rows come to. A run
that was stopped is continued by the same command, after the last whole line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

from histoeval.errors import OutputError, Problem
from histoeval.io.results import (
    drop_half_line,
    files_of,
    read_json,
    read_lines,
    refuse_another,
    unknown_maker,
    write_json,
)
from histoeval.report import Noun, Report

ENDINGS = (".jsonl", ".ndjson")


class Line(Protocol):
    """Whatever is written as one line."""

    def line(self) -> bytes:
        """The row as one line of JSON."""


R = TypeVar("R", bound=Line)


class ReadRow(Noun):
    """One text with what was read in it, or the reasons why nothing was; never both.

    `row` is the row of the input, counted from 1, where something is wrong with it.
    """

    id: str
    report: Report | None = None
    row: int | None = None
    errors: tuple[Problem, ...] = ()

    def line(self) -> bytes:
        """The row as one line of JSON."""
        if self.report is None:
            errors = [
                {"code": error.code, "message": error.message, "column": error.column}
                for error in self.errors
            ]
            content: dict[str, Any] = {"id": self.id, "row": self.row, "errors": errors}
        else:
            content = {"id": self.id, **self.report.model_dump(mode="json")}
        return json.dumps(content, ensure_ascii=False).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> ReadRow:
        """The row that was written so."""
        content = json.loads(line)
        if not isinstance(content, dict):
            raise ValueError("a row is an object")
        if "errors" in content:
            return cls.model_validate(content)
        name = content.pop("id", None)
        return cls(id=name, report=Report.model_validate(content))


class RowFile(Generic[R]):
    """A file that rows are written to and can be continued in; `read` makes a row of a line."""

    def __init__(self, path: Path, read: Callable[[bytes], R]) -> None:
        if path.suffix.lower() not in ENDINGS:
            raise OutputError(f"{path} must end in .jsonl, since it is written as JSON lines")
        self.path = path
        self._read = read
        self.meta = path.with_name(f"{path.name}.meta.json")

    def prepare(self, run: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Make the file ready for this run: new, or continuing the same one."""
        with files_of(self.path):
            if self.path.is_dir():
                raise OutputError(f"{self.path} is a folder; give the name of a file")
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if overwrite:
                self.path.unlink(missing_ok=True)
            if self.path.exists() and self.path.stat().st_size:
                self._refuse_another(run)
                drop_half_line(self.path)
            write_json(self.meta, {"run": run, "finished": False})

    def __iter__(self) -> Iterator[R]:
        return self.finished()

    def finished(self) -> Iterator[R]:
        """Rows that are already there."""
        if self.path.exists():
            with files_of(self.path):
                yield from read_lines(self.path, self._read)

    @contextmanager
    def append(self) -> Iterator[IO[bytes]]:
        """Open for more rows."""
        with files_of(self.path), self.path.open("ab") as file:
            yield file

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what all rows come to."""
        with files_of(self.path):
            before = read_json(self.meta, self.path)
            write_json(self.meta, {"run": before["run"], "finished": True, "summary": summary})

    def _refuse_another(self, run: Mapping[str, Any]) -> None:
        if not self.meta.exists():
            raise unknown_maker(self.path)
        before = read_json(self.meta, self.path).get("run")
        if not isinstance(before, dict):
            raise unknown_maker(self.path)
        refuse_another(self.path, before, run)


class ExtractedFile(RowFile[ReadRow]):
    """A file of what was read in reports."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, ReadRow.of_line)


def write_lines(file: IO[bytes], rows: Iterable[Line]) -> None:
    """Append rows and hand them to the system, so that a kill loses none of them."""
    for row in rows:
        file.write(row.line())
    file.flush()
