"""Decoding files: encoding and hash in one pass, and lines in constant memory."""

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

from histoeval.argument_names import argument
from histoeval.errors import InputError
from histoeval.io.folder_kinds import wrong_folder
from histoeval.io.tables.records import RECORD_LIMIT

CHUNK = 2**20

# Longest first where one begins with another.
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}

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
# Letters that are words of their own, as the French à.
_WORDS = "\udcc0\udcc5\udcc8\udcc9\udcd2\udcd3\udcd8\udce0\udce5\udce8\udce9\udcf2\udcf3\udcf8"
_LONGEST_RUN = 4
_OTHER = r"[^\udc80-\udcff]"
_LIKELY = (
    rf"(?:(?<=[A-Za-z]){_LETTERS}[{_SIGNS}]*|[{_SIGNS}]*[{_WORDS}]?[{_SIGNS}]*){_OTHER}"
    rf"|[{_SIGNS}]*{_LETTERS}[A-Za-z]"
)

# Bytes in a row that no Western European text would hold: such as three letters with accents. Other
# scripts have them in every word, and a character of UTF-8 that was cut stands alone.
UNLIKELY_IN_WESTERN_TEXT = re.compile(
    rf"[\udc80-\udcff]{{{_LONGEST_RUN}}}"
    rf"|(?<={_OTHER})(?!{_LIKELY})[\udc80-\udcff]+{_OTHER}"
)
WINDOWS_ONLY = re.compile(f"[{_WINDOWS_SIGNS}{_WINDOWS_LETTERS}]")
GOOD_AND_NOT_ASCII = re.compile(r"[^\x00-\x7f\udc80-\udcff]")

# Error handler for decoding: each byte that cannot be read becomes one lone surrogate.
BAD_BYTES = "histoeval.bad_bytes"


def _mark_bad_bytes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "".join(chr(0xDC00 + byte) for byte in error.object[error.start : error.end]), error.end


codecs.register_error(BAD_BYTES, _mark_bad_bytes)


@dataclass(frozen=True)
class Survey:
    size: int
    sha256: str
    encoding: str = ""
    notes: tuple[str, ...] = ()


class _Letters:
    """Evidence of the encoding beyond ASCII; bytes that are not UTF-8 come as surrogates."""

    def __init__(self) -> None:
        self.good = self.bad = self.unlikely = self.windows = False
        self._carried = "\n"

    def judge(self, text: str) -> None:
        """Judge all bytes but the last ones, whose right neighbour is not known yet."""
        text = self._carried + text
        self._carried = text[-_LONGEST_RUN - 1 :]
        if text.isascii():
            return
        try:
            text.encode()
        except UnicodeEncodeError:
            self.bad = True
            self.good = self.good or bool(GOOD_AND_NOT_ASCII.search(text))
            self.unlikely = self.unlikely or bool(UNLIKELY_IN_WESTERN_TEXT.search(text))
            self.windows = self.windows or bool(WINDOWS_ONLY.search(text))
        else:
            self.good = True


def survey(path: Path, encoding: str | None = None, *, any_content: bool = False) -> Survey:
    """Read a text file once: its size on disk, its hash, and its encoding unless that is given.

    An empty or binary file is refused, but with `any_content`.
    """
    letters = _Letters()
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    digest, size, null_count, head = hashlib.sha256(), 0, 0, b""
    with open_bytes(path) as (stream, _):
        while chunk := stream.read(CHUNK):
            digest.update(chunk)
            size += len(chunk)
            null_count += chunk.count(0)
            head = head or chunk[:4]
            letters.judge(decoder.decode(chunk))
    letters.judge(decoder.decode(b"", final=True) + "\n")
    if not size and not any_content:
        raise InputError(f"{path} is empty")
    marked_encoding = next(
        (name for mark, name in BYTE_ORDER_MARKS.items() if head.startswith(mark)), None
    )
    if encoding is None and not any_content and marked_encoding in (None, "utf-8-sig"):
        kinds = (kind for start, kind in BINARY_BEGINNINGS.items() if head.startswith(start))
        null_kind = "a binary file, or UTF-16 without the mark that says so"
        if kind := next(kinds, null_kind if null_count * 20 > size else None):
            raise InputError(f"{path} is not a text file: it looks like {kind}")
    name, note = marked_encoding or "utf-8", ""
    if encoding is not None:
        try:
            "a".encode(encoding)
        except (LookupError, UnicodeError):
            raise InputError(
                f"there is no encoding {encoding!r}; try utf-8, latin-1, cp1252 or utf-16"
            ) from None
        name = codecs.lookup(encoding).name
        # A mark that was seen stays known.
        name = (
            marked_encoding
            if marked_encoding and name.startswith(marked_encoding.removesuffix("-sig"))
            else name
        )
    elif marked_encoding is None and letters.bad and (letters.good or letters.unlikely):
        note = "some bytes are not UTF-8; the rows that hold them are refused"
    elif marked_encoding is None and letters.bad:
        name, spelling = ("cp1252", "Windows-1252") if letters.windows else ("latin-1", "Latin-1")
        option = argument("encoding", "NAME")
        note = f"not UTF-8; read as {spelling}" + (option and f" (if that is wrong, give {option})")
    return Survey(path.stat().st_size, digest.hexdigest(), name, (note,) if note else ())


def survey_binary(path: Path) -> Survey:
    with open_bytes(path) as (stream, _):
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Survey(path.stat().st_size, digest)


@contextmanager
def open_bytes(path: Path) -> Iterator[tuple[io.BufferedReader | gzip.GzipFile, io.BufferedReader]]:
    """Open a file, unpacked if it is a .gz, and the raw file on disk."""
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
    """Survey several named files as one: sizes are added, hashes and names hashed together."""
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

    A line over the limit is cut just above it and the rest is skipped, so that no line can
    fill the memory and readers can tell by the length.
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
            remainder = line if len(line) > RECORD_LIMIT else ""
            while remainder and not remainder.endswith(("\n", "\r")):
                remainder = self._read(CHUNK)
        else:
            raise StopIteration
        self.number += 1
        return line

    def take_back(self, lines: list[str]) -> None:
        self._returned.extend(reversed(lines))
        self.number -= len(lines)


def read_start(path: Path, encoding: str, characters: int) -> tuple[str, int]:
    """Read the first characters of a file, keeping line ends, and the position reached on disk."""
    with open_bytes(path) as (stream, raw):
        text = io.TextIOWrapper(stream, encoding, BAD_BYTES, newline="")
        return text.read(characters), raw.tell()


@contextmanager
def open_lines(path: Path, encoding: str) -> Iterator[Lines]:
    """Open the lines of a file, keeping line ends.

    A line ends at a line feed. A carriage return ends one only in a file, of very old make, that
    has no line feeds; elsewhere it is part of the text, and lines must not shift because of it.
    """
    with open_bytes(path) as (stream, _):
        has_line_feed = any(b"\n" in chunk for chunk in iter(lambda: stream.read(CHUNK), b""))
    with open_bytes(path) as (stream, raw):
        end = "\n" if has_line_feed else "\r"
        yield Lines(io.TextIOWrapper(stream, encoding, BAD_BYTES, newline=end), raw.tell)
