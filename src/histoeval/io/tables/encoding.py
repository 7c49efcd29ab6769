"""From bytes to text: a file's encoding and hash in one pass, and its lines in constant memory."""

import codecs
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TextIO

from histoeval.callers import argument
from histoeval.errors import InputError
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.row_faults import RECORD_LIMIT

CHUNK = 2**20

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Longest first where one begins with another."""

BINARY_BEGINNINGS = {
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"%PDF": "a PDF",
    b"PAR1": "a Parquet file",
    b"\x1f\x8b": "a gzip file",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
}

_WINDOWS_LETTERS = "\udc8a\udc8c\udc8e\udc9a\udc9c\udc9e\udc9f"
_WINDOWS_SIGNS = "\udc80\udc82\udc84\udc85\udc89\udc8b\udc91-\udc97\udc99\udc9b"
_SIGNS = f"\udca0\udca7\udcab\udcb0-\udcb3\udcb5\udcbb-\udcbd\udcd7{_WINDOWS_SIGNS}"
_LATIN = (
    "\udcc0\udcc1\udcc4-\udccf\udcd1-\udcd6\udcd8-\udcdd\udcdf-\udcef\udcf1-\udcf6\udcf8-\udcfd"
)
_LETTERS = f"(?:[{_LATIN}]{{1,2}}|[{_WINDOWS_LETTERS}])"
_WORDS = "\udcc0\udcc5\udcc8\udcc9\udcd2\udcd3\udcd8\udce0\udce5\udce8\udce9\udcf2\udcf3\udcf8"
"""Letters that are words of their own, as the French à."""
_LONGEST_RUN = 4
_OTHER = r"[^\udc80-\udcff]"
_LIKELY = (
    rf"(?:(?<=[A-Za-z]){_LETTERS}[{_SIGNS}]*|[{_SIGNS}]*[{_WORDS}]?[{_SIGNS}]*){_OTHER}"
    rf"|[{_SIGNS}]*{_LETTERS}[A-Za-z]"
)

UNLIKELY_IN_WESTERN_TEXT = re.compile(
    rf"[\udc80-\udcff]{{{_LONGEST_RUN}}}"
    rf"|(?<={_OTHER})(?!{_LIKELY})[\udc80-\udcff]+{_OTHER}"
)
"""Bytes in a row that no Western European text would hold: such as three letters with accents.

Other scripts have them in every word, and a character of UTF-8 that was cut stands alone.
"""
WINDOWS_ONLY = re.compile(f"[{_WINDOWS_SIGNS}{_WINDOWS_LETTERS}]")
GOOD_AND_NOT_ASCII = re.compile(r"[^\x00-\x7f\udc80-\udcff]")

BAD_BYTES = "histoeval.bad_bytes"
"""Error handler for decoding: each byte that cannot be read becomes one lone surrogate."""


def _mark_bad_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + b) for b in error.object[error.start : error.end]), error.end


codecs.register_error(BAD_BYTES, _mark_bad_bytes)


@dataclass(frozen=True)
class Survey:
    """What one pass over a file shows. The hash is that of its content, unpacked."""

    size: int
    sha256: str
    encoding: str = ""
    notes: tuple[str, ...] = ()


class Scan:
    """The bytes of one file, looked at a chunk at a time."""

    def __init__(self) -> None:
        self.size = 0
        self.digest = hashlib.sha256()
        self._nulls = 0
        self._head = b""
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._carried = "\n"
        self._good = self._bad = self._unlikely = self._windows = False

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes into account."""
        self.size += len(chunk)
        self.digest.update(chunk)
        self._nulls += chunk.count(0)
        self._head = self._head or chunk[:4]
        self._judge(self._decoder.decode(chunk))

    def _judge(self, text: str) -> None:
        """Judge all bytes in a row but the last ones, whose right neighbour is not known yet."""
        text = self._carried + text
        self._carried = text[-_LONGEST_RUN - 1 :]
        if text.isascii():
            return
        try:
            text.encode()
        except UnicodeEncodeError:
            self._bad = True
            self._good = self._good or bool(GOOD_AND_NOT_ASCII.search(text))
            self._unlikely = self._unlikely or bool(UNLIKELY_IN_WESTERN_TEXT.search(text))
            self._windows = self._windows or bool(WINDOWS_ONLY.search(text))
        else:
            self._good = True

    def binary(self) -> str | None:
        """What the file seems to be, if it is no text at all."""
        if self._marked() not in (None, "utf-8-sig"):
            return None
        for beginning, name in BINARY_BEGINNINGS.items():
            if self._head.startswith(beginning):
                return name
        if self._nulls * 20 > self.size:
            return "a binary file, or UTF-16 without the mark that says so"
        return None

    def encoding(self) -> tuple[str, tuple[str, ...]]:
        """The encoding and notes on it for the user."""
        self._judge(self._decoder.decode(b"", final=True) + "\n")
        if marked := self._marked():
            return marked, ()
        if not self._bad:
            return "utf-8", ()
        if self._good or self._unlikely:
            return "utf-8", ("some bytes are not UTF-8; the rows that hold them are refused",)
        name, spelling = ("cp1252", "Windows-1252") if self._windows else ("latin-1", "Latin-1")
        way = argument("encoding", "NAME")
        wrong = f" (if that is wrong, give {way})" if way else ""
        return name, (f"not UTF-8; read as {spelling}{wrong}",)

    def _marked(self) -> str | None:
        marks = (name for mark, name in BYTE_ORDER_MARKS.items() if self._head.startswith(mark))
        return next(marks, None)


def survey(path: Path, encoding: str | None = None, *, any_content: bool = False) -> Survey:
    """Read a text file once: its size on disk, its hash, and its encoding unless that is given.

    An empty or binary file is refused, but with `any_content`.
    """
    scan = Scan()
    with open_bytes(path) as (stream, _):
        for chunk in iter(lambda: stream.read(CHUNK), b""):
            scan.feed(chunk)
    if not scan.size and not any_content:
        raise InputError(f"{path} is empty")
    if encoding is None and not any_content and (kind := scan.binary()):
        raise InputError(f"{path} is not a text file: it looks like {kind}")
    name, notes = scan.encoding()
    if encoding is not None:
        name, notes = _known_encoding(encoding, name), ()
    return Survey(path.stat().st_size, scan.digest.hexdigest(), name, notes)


def survey_binary(path: Path) -> Survey:
    """The size and the hash of a file that is no text."""
    with open_bytes(path) as (stream, _):
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Survey(path.stat().st_size, digest)


def _known_encoding(name: str, seen: str) -> str:
    """The encoding a person named, in Python's spelling; a mark that was seen stays known."""
    try:
        "a".encode(name)
    except (LookupError, UnicodeError):
        raise InputError(
            f"there is no encoding {name!r}; try utf-8, latin-1, cp1252 or utf-16"
        ) from None
    name = codecs.lookup(name).name
    is_marked = seen in BYTE_ORDER_MARKS.values() and name.startswith(seen.removesuffix("-sig"))
    return seen if is_marked else name


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[io.BufferedReader | gzip.GzipFile, io.BufferedReader]]:
    """The content of a file, unpacked if it is a .gz, and the file as it lies on the disk."""
    try:
        with path.open("rb") as raw:
            if path.suffix.lower() == ".gz":
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield unpacked, raw
            else:
                yield raw, raw
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise InputError(f"{path} is not a whole gzip file: {error}") from error
    except IsADirectoryError as error:
        raise wrong_folder(path, "cannot be read: it is a folder") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def joined(surveys: Iterable[tuple[str, Survey]]) -> Survey:
    """Several named files as one: sizes added, hash over the list of their hashes and names."""
    digest, size = hashlib.sha256(), 0
    encodings: set[str] = set()
    notes: dict[str, None] = {}
    for name, part in surveys:
        digest.update(f"{part.sha256}  {name}\n".encode("utf-8", "surrogateescape"))
        size += part.size
        encodings.add(part.encoding)
        notes |= {f"{name}: {note}": None for note in part.notes}
    encoding = ", ".join(sorted(filter(None, encodings)))
    return Survey(size, digest.hexdigest(), encoding, tuple(notes))


class Lines:
    """An iterator over physical lines, ends of line included; lines can be taken back.

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
        elif line := self._read(RECORD_LIMIT + 1):
            rest = line if len(line) > RECORD_LIMIT else ""
            while rest and not rest.endswith(("\n", "\r")):
                rest = self._read(CHUNK)
        else:
            raise StopIteration
        self.number += 1
        return line

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
    with open_bytes(path) as (stream, _):
        has_line_feed = any(b"\n" in chunk for chunk in iter(lambda: stream.read(CHUNK), b""))
    with open_bytes(path) as (stream, raw):
        end = "\n" if has_line_feed else "\r"
        yield io.TextIOWrapper(stream, encoding, BAD_BYTES, newline=end), raw.tell


@contextmanager
def open_lines(path: Path, encoding: str) -> Iterator[Lines]:
    """The lines of a file."""
    with open_text(path, encoding) as (text, position):
        yield Lines(text, position)
