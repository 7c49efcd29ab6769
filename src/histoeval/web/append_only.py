"""Append-only files of JSON lines: a line is reported as saved only when it is on the disk.

Nothing is ever rewritten; the beginning of a line that a killed server has left is dropped.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from histoeval.errors import OutputError
from histoeval.io.writing import file_mode

Model = TypeVar("Model", bound=BaseModel)

_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)


def read_json_lines(path: Path, model: type[Model], damage: str) -> Iterator[Model]:
    """Read the whole lines of a file; `damage` completes the message about an unreadable line."""
    *lines, _ = path.read_bytes().split(b"\n") if path.exists() else [b""]
    for number, line in enumerate(lines, start=1):
        try:
            yield model.model_validate_json(line)
        except ValidationError as error:
            raise OutputError(f"line {number} of {path} {damage}") from error


def append_durably(path: Path, line: bytes) -> None:
    """Append a line and wait for the disk; what could not be written whole is taken back."""
    is_new = not path.exists()
    file = os.open(path, _APPEND, file_mode())
    try:
        end = os.fstat(file).st_size
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[os.write(file, rest) :]
            os.fsync(file)
        except OSError:
            os.ftruncate(file, end)
            raise
    finally:
        os.close(file)
    if is_new and os.name == "posix":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
