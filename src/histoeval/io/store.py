"""Rows on disk, one JSON line each, written as they are finished.

There are two layouts. A *folder* holds `run.json` (the request, written first), the rows, and
`summary.json` (written last). A *file* `OUT.jsonl` has `OUT.jsonl.meta.json` beside it, which holds
the request and, at the end, the summary. Rows that are wished for compressed or as Parquet are
packed just before the summary; until then those of `OUT.parquet` are in `OUT.parquet.rows`. The
same command resumes a stopped run after its last whole row; the results of another run are refused,
and so are those of another verb. One process at a time may write: the others are refused at once,
and the lock of a process that was killed is free again.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from histoeval.errors import HistoEvalError, OutputError
from histoeval.io.folder_kinds import VERB_FILES
from histoeval.io.row_files import drop_half_line, in_form, pack, row_lines, stored_as
from histoeval.io.tables.remote import demand_local_output
from histoeval.io.writing import (
    check_not_input,
    file_mode,
    locked,
    make_folder,
    remove,
    write_json,
    writing_to,
)

ENDINGS = (".jsonl", ".ndjson")
PACKED_ENDINGS = (".jsonl.gz", ".ndjson.gz", ".parquet")
ADVICE = "give another --output, or --overwrite to replace them"

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


class StoredRow(Protocol):
    @property
    def id(self) -> str: ...

    def line(self) -> bytes: ...


R = TypeVar("R", bound=StoredRow)
T = TypeVar("T")


class RowStore(Generic[R]):
    """The rows of a run on disk; `read` makes a row of a line.

    With `folder`, rows are a file of that name in the folder `path`; else `path` is that file.
    With `verb`, the folder that holds the rows is that of this verb: see `claim`. In a folder,
    `form` says how finished rows are kept; by default as they are, in a new folder as lines.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[bytes], R],
        *,
        folder: str = "",
        verb: str = "",
        form: str | None = None,
    ) -> None:
        self.home = path
        self.is_folder = bool(folder)
        self.is_wrapped = not folder  # `meta` then holds the summary beside the request
        self.path = path / folder
        self.meta = path / "run.json" if folder else path.with_name(f"{path.name}.meta.json")
        self.summary = path / "summary.json"
        self._verb = verb
        # a folder of our own is locked as a whole
        self._lock = self.path.with_name(".lock" if folder or verb else f"{path.name}.lock")
        self.read = read
        self._rows = -1
        demand_local_output(path)
        self._form = form
        if not folder and path.name.lower().endswith(PACKED_ENDINGS):
            self.path = path.with_name(f"{path.name}.rows")
        elif not folder and path.suffix.lower() not in ENDINGS:
            raise OutputError(f"{path} must end in .jsonl, .jsonl.gz or .parquet")

    @property
    def stored(self) -> Path:
        """The file that holds the rows: `path` while they grow, another when packed."""
        if self.is_folder:
            return stored_as(self.path)
        return self.path if self.path.exists() else self.home

    @property
    def packed(self) -> Path:
        if not self.is_folder:
            return self.home
        return self.stored if self._form is None else in_form(self.path, self._form)

    @property
    def is_packed(self) -> bool:
        return (stored := self.stored) != self.path and stored.exists()

    def __iter__(self) -> Iterator[R]:
        if (stored := self.stored).exists():
            with writing_to(self.home):
                yield from read_lines(stored, self.read)

    @contextmanager
    def opened(self, request: Mapping[str, Any], *, overwrite: bool = False) -> Iterator[None]:
        """Lock the store for one run, ready to resume this very request."""
        with writing_to(self.home):
            self._make_place()
        with locked(self._lock, self.home):
            with writing_to(self.home):
                self._prepare(request, overwrite=overwrite)
                if not self.is_packed:
                    self._open()
            try:
                yield
            finally:
                self._close()

    def _open(self) -> None:
        """Open the rows for appending; packed rows are unpacked first."""
        if self.is_packed:
            pack(self.stored, self.path)
        self._rows = os.open(self.path, _APPEND, file_mode())

    def _close(self) -> None:
        if self._rows >= 0:
            os.close(self._rows)
        self._rows = -1

    def write(self, rows: Iterable[R]) -> None:
        """Append rows unbuffered, so that a kill loses none of them."""
        self.write_lines(row.line() for row in rows)

    def write_lines(self, lines: Iterable[bytes]) -> None:
        with writing_to(self.home):
            remaining = memoryview(b"".join(lines))
            if remaining and self._rows < 0:
                self._open()
            try:
                while remaining:
                    remaining = remaining[os.write(self._rows, remaining) :]
            except OSError:
                with suppress(OSError):
                    drop_half_line(self.path)
                raise

    def finish(self, summary: Mapping[str, Any]) -> None:
        with writing_to(self.home):
            rows, packed = self.stored, self.packed
            if rows != packed:
                self._close()
                pack(rows, packed)
                remove(rows)
            if not self.is_wrapped:
                write_json(self.summary, summary)
            else:
                run = read_json(self.meta, self.home)["run"]
                write_json(self.meta, {"run": run, "finished": True, "summary": summary})

    def _make_place(self) -> None:
        if self.is_folder and self.home.is_file():
            raise OutputError(f"{self.home} is a file; results need a folder")
        if not self.is_folder and self.home.is_dir():
            raise OutputError(f"{self.home} is a folder; give the name of a file")
        make_folder(self.path.parent)

    def _prepare(self, request: Mapping[str, Any], *, overwrite: bool) -> None:
        check_not_input([*self._written(), self.meta])
        if self._verb:
            claim(self.path.parent, self._verb, overwrite=overwrite)
        if overwrite:
            for file in self._written():
                remove(file)
        # A run that ended before its first row has made nothing.
        is_begun = self.is_folder and self.summary.exists()
        if _holds_something(self.stored) or is_begun:
            if not self.meta.exists():
                raise unknown_maker(self.home)
            content = read_json(self.meta, self.home)
            stored_request = content.get("run") if self.is_wrapped else content
            if not isinstance(stored_request, dict):
                raise unknown_maker(self.home)
            new_request = json.loads(json.dumps(request))
            names = sorted(
                name
                for name in {*stored_request, *new_request}
                if stored_request.get(name) != new_request.get(name)
            )
            if names:
                raise OutputError(
                    f"{self.home} holds the results of another run (different: "
                    f"{', '.join(names)}); {ADVICE}"
                )
        write_json(self.meta, {"run": request, "finished": False} if self.is_wrapped else request)
        if self.path.exists():
            self._drop_unfinished()

    def _written(self) -> Iterable[Path]:
        """List the files that a run leaves, and that --overwrite removes."""
        if self._verb:
            return [self.path.with_name(name) for name in VERB_FILES[self._verb]]
        return (self.path, self.meta, self.summary) if self.is_folder else (self.path, self.home)

    def _drop_unfinished(self) -> None:
        """Remove an unfinished row that a killed run left at the end."""
        drop_half_line(self.path)


def claim(folder: Path, verb: str, *, overwrite: bool = False) -> None:
    """Refuse to replace files of another verb; with `overwrite`, remove them."""
    own_files = VERB_FILES[verb]
    check_not_input(folder / name for name in own_files)
    for other_verb, files in VERB_FILES.items():
        if (
            other_verb == verb
            or set(own_files).isdisjoint(files)
            or not (folder / files[0]).exists()
        ):
            continue
        if not overwrite:
            raise OutputError(f"{folder} holds the results of `histoeval {other_verb}`; {ADVICE}")
        for name in files:
            remove(folder / name)
    is_known = overwrite or (folder / own_files[0]).exists()
    if not is_known and any(_holds_something(folder / name) for name in own_files):
        raise unknown_maker(folder)


def _holds_something(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def unknown_maker(home: Path) -> OutputError:
    return OutputError(f"{home} holds results that do not say what made them; {ADVICE}")


def not_of_input(name: str, path: Path) -> OutputError:
    return OutputError(f"the row {name} of {path} is not what the input has there; {ADVICE}")


def read_json(path: Path, home: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise unknown_maker(home) from error
    if not isinstance(content, dict):
        raise unknown_maker(home)
    return content


def read_lines(
    path: Path,
    read: Callable[[bytes], T],
    refuse: type[HistoEvalError] = OutputError,
    advice: str = f"; {ADVICE}",
) -> Iterator[T]:
    """Read the rows of a file in any form; an invalid line is reported by its number."""
    lines = row_lines(path)
    for number in count(1):
        try:
            row = read(next(lines))
        except StopIteration:
            return
        except (ValueError, RecursionError) as error:
            raise refuse(f"line {number} of {path} is not a row of results{advice}") from error
        yield row
