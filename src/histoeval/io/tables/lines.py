"""The physical lines of a file: counted, bounded in length, and able to be taken back."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TextIO

from histoeval.io.tables.encoding import BAD_BYTES, CHUNK, open_bytes
from histoeval.io.tables.row_faults import RECORD_LIMIT


class Lines:
    """An iterator over lines, ends of line included.

    A line over the limit comes cut just above it, and the rest of it is passed over, so that
    no line can fill the memory and whoever reads can tell by the length.
    """

    def __init__(self, text: TextIO, position: Callable[[], int]) -> None:
        self.number = 0
        self.position = position
        self._read = text.readline
        self._returned: list[str] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        if self._returned:
            line = self._returned.pop()
        else:
            line = self._read(RECORD_LIMIT + 1)
            if not line:
                raise StopIteration
            if len(line) > RECORD_LIMIT:
                self._pass_over(line)
        self.number += 1
        return line

    def _pass_over(self, part: str) -> None:
        while part and not part.endswith(("\n", "\r")):
            part = self._read(CHUNK)

    def take_back(self, lines: list[str]) -> None:
        """Have these lines, the last ones given, come once more."""
        self._returned.extend(reversed(lines))
        self.number -= len(lines)


@contextmanager
def open_text(path: Path, encoding: str) -> Iterator[tuple[TextIO, Callable[[], int]]]:
    """A file as text, ends of line untouched, and the place reached on the disk.

    A line ends at a line feed. A carriage return ends one only in a file, of very old make, that
    has no line feeds; elsewhere it is part of the text, and lines must not shift because of it.
    """
    end = "\r" if _has_no_line_feed(path) else "\n"
    with open_bytes(path) as (stream, raw):
        yield io.TextIOWrapper(stream, encoding, BAD_BYTES, newline=end), raw.tell


def _has_no_line_feed(path: Path) -> bool:
    """Looks no further than the first one."""
    with open_bytes(path) as (stream, _):
        return not any(b"\n" in chunk for chunk in iter(lambda: stream.read(CHUNK), b""))


@contextmanager
def open_lines(path: Path, encoding: str) -> Iterator[Lines]:
    """The lines of a file."""
    with open_text(path, encoding) as (text, position):
        yield Lines(text, position)
