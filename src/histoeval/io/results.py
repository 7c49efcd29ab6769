"""Result folders: one line per pair, written as it is scored, and a summary at the end.

A folder holds `run.json` (what was asked, written first), `scores.jsonl` (one row per pair, in
the order of the input) and `summary.json` (written last). A run that was stopped leaves the first
two; the same command continues after the last whole line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar

from pydantic import Field

from histoeval.errors import OutputError, Problem
from histoeval.metric import Evidence, FrozenDict, Numbers, Score
from histoeval.report import Noun

R = TypeVar("R")

_ADVICE = "give another --output, or --overwrite to replace them"


class MetricResult(Noun):
    """What a row of results says of one metric: a score without its signature."""

    value: float
    parts: Numbers = FrozenDict()
    evidence: Evidence = FrozenDict()
    counts: tuple[float, ...] = ()

    @classmethod
    def of(cls, score: Score) -> MetricResult:
        """What is kept of a score; the signature stands once, in the summary."""
        return cls.model_construct(
            value=score.value, parts=score.parts, evidence=score.evidence, counts=score.counts
        )


class ResultRow(Noun):
    """One pair with all its scores, and the reasons for those it does not have."""

    id: str
    system: str | None
    row: int
    scores: dict[str, MetricResult] = Field(default_factory=dict)
    errors: tuple[Problem, ...] = ()


class ResultFolder:
    """A folder that results are written to and can be continued in."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.scores = path / "scores.jsonl"
        self.summary = path / "summary.json"
        self._run = path / "run.json"

    def prepare(self, run: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Make the folder ready for this run: new, or continuing the same one."""
        with files_of(self.path):
            if self.path.is_file():
                raise OutputError(f"{self.path} is a file; results need a folder")
            self.path.mkdir(parents=True, exist_ok=True)
            if overwrite:
                for file in (self.scores, self.summary, self._run):
                    file.unlink(missing_ok=True)
            if self._run.exists():
                refuse_another(self.path, read_json(self._run, self.path), run)
            elif self.scores.exists() or self.summary.exists():
                raise unknown_maker(self.path)
            write_json(self._run, run)
            if self.scores.exists():
                drop_half_line(self.scores)

    def __iter__(self) -> Iterator[ResultRow]:
        return self.finished()

    def finished(self) -> Iterator[ResultRow]:
        """Rows that are already there."""
        if self.scores.exists():
            with files_of(self.path):
                yield from read_lines(self.scores, ResultRow.model_validate_json)

    @contextmanager
    def append(self) -> Iterator[IO[bytes]]:
        """Open for more rows."""
        with files_of(self.path), self.scores.open("ab") as file:
            yield file

    def finish(self, summary: Mapping[str, Any]) -> None:
        """Write what all rows come to."""
        with files_of(self.path):
            write_json(self.summary, summary)


def refuse_another(holder: Path, before: Mapping[str, Any], run: Mapping[str, Any]) -> None:
    """Leave alone what another run has written, and say what differs."""
    now = json.loads(json.dumps(run))
    if different := sorted(k for k in {*before, *now} if before.get(k) != now.get(k)):
        raise OutputError(
            f"{holder} holds the results of another run (different: "
            f"{', '.join(different)}); {_ADVICE}"
        )


def unknown_maker(holder: Path) -> OutputError:
    """What is said of results that nothing tells the origin of."""
    return OutputError(f"{holder} holds results that do not say what made them; {_ADVICE}")


def read_json(path: Path, holder: Path) -> dict[str, Any]:
    """What was said of a run, in words that can still be read."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise unknown_maker(holder) from error
    if not isinstance(content, dict):
        raise unknown_maker(holder)
    return content


def read_lines(path: Path, read: Callable[[bytes], R]) -> Iterator[R]:
    """The rows of a file, one per line; a line that is none is named."""
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield read(line)
            except ValueError as error:
                raise OutputError(
                    f"line {number} of {path} is not a row of results; {_ADVICE}"
                ) from error


def drop_half_line(path: Path) -> None:
    """A run that was killed may have left the beginning of a line."""
    with path.open("rb+") as file:
        size = end = file.seek(0, os.SEEK_END)
        while end:
            start = max(0, end - 65536)
            file.seek(start)
            newline = file.read(end - start).rfind(b"\n")
            if newline >= 0:
                end = start + newline + 1
                break
            end = start
        if end < size:
            file.truncate(end)


def write_rows(file: IO[bytes], rows: Iterable[ResultRow]) -> None:
    """Append rows and hand them to the system, so that a kill loses none of them."""
    for row in rows:
        file.write(row.model_dump_json(exclude_defaults=False).encode() + b"\n")
    file.flush()


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a whole file or none of it; names of files need not be Unicode, and come escaped."""
    draft = path.with_suffix(".part")
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    draft.write_bytes(text.encode("utf-8", "backslashreplace"))
    draft.replace(path)


@contextmanager
def files_of(folder: Path) -> Iterator[None]:
    """Say for people what the system says of files: a full disk, a missing permission."""
    try:
        yield
    except OSError as error:
        raise OutputError(f"cannot use {folder} for results: {error.strerror or error}") from error
