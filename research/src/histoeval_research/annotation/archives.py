"""The documents of an annotation project: one file, a folder, or a zip archive of them."""

import io
import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from histoeval.errors import InputError
from histoeval.io.tables.row_faults import RECORD_LIMIT

TYPESYSTEM = "typesystem.xml"
PROJECT_FOLDERS = ("annotation", "curation")
"""Where a project of INCEpTION has a folder per document with a file per annotator."""

NOT_ANNOTATED = "INITIAL_CAS"
"""What INCEpTION calls the copy of a document without annotations."""


ARCHIVE_LIMIT = 256 * 2**20
"""The most bytes that an archive may unpack to, with the archives in it; all are in memory."""

MEMBER_LIMIT = 20_000
"""The most files that an archive may hold, with the archives in it."""

_ENTRY = b"PK\x01\x02"
"""What each entry of the table of contents of an archive begins with."""

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
"""What `zipfile` raises for archives that are damaged, encrypted or of a kind it cannot read."""


class Document(NamedTuple):
    """One annotated document: its name, the report it is of, its content, and what lies beside.

    That is a type system (for XMI), or the text under the same name (for brat).
    """

    name: str
    report: str
    content: bytes
    typesystem: bytes | None
    text: bytes | None


class _File(NamedTuple):
    path: PurePosixPath
    read: Callable[[], bytes]


def documents(path: Path, ending: str) -> Iterator[Document]:
    """The documents with this ending, in the order of their names.

    Where one annotator worked on a document its name says enough, else the annotator's is added.
    """
    files = [file for file in _files(path) if file.path.stem != NOT_ANNOTATED]
    wanted = [file for file in files if file.path.suffix.lower() == ending]
    if not wanted:
        raise InputError(f"{path} holds no file that ends in {ending}")
    near = files if path.is_dir() or _is_archive(path) else _neighbours(path)
    types = {f.path.parent: f.read for f in near if f.path.name.lower() == TYPESYSTEM}
    texts = {file.path: file.read for file in near if file.path.suffix.lower() == ".txt"}
    count = Counter(_report(file.path) for file in wanted)
    for file in wanted:
        report = _report(file.path)
        name = report if count[report] == 1 else f"{report}/{file.path.stem}"
        typesystem = types.get(file.path.parent) or next(iter(types.values()), None)
        text = texts.get(file.path.with_suffix(".txt"))
        yield Document(name, report, file.read(), typesystem and typesystem(), text and text())


def endings(path: Path) -> set[str]:
    """The endings of the files that an archive or a folder holds."""
    if path.is_dir():
        return {file.suffix.lower() for file in path.rglob("*") if file.is_file()}
    return {file.path.suffix.lower() for file in _files(path)}


def _report(path: PurePosixPath) -> str:
    """The document that a file annotates: in a project of INCEpTION that of its folder."""
    if path.parent.parent.name in PROJECT_FOLDERS:
        return PurePosixPath(path.parent.name).stem
    return path.with_suffix("").as_posix()


def _is_archive(path: Path) -> bool:
    return path.suffix.lower() == ".zip"


def _files(path: Path) -> Sequence[_File]:
    try:
        if path.is_dir():
            found = sorted(file for file in path.rglob("*") if file.is_file())
            return [_File(_relative(file, path), partial(_read, file)) for file in found]
        if _is_archive(path):
            with path.open("rb") as file:
                return list(_unzipped(file, PurePosixPath(), str(path), _Allowance(str(path))))
        return [_File(PurePosixPath(path.name), partial(_read, path))]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _neighbours(path: Path) -> Sequence[_File]:
    """The files that lie where a single file does."""
    found = sorted(file for file in path.parent.iterdir() if file.is_file())
    return [_File(PurePosixPath(file.name), partial(_read, file)) for file in found]


def _relative(file: Path, folder: Path) -> PurePosixPath:
    return PurePosixPath(file.relative_to(folder).as_posix())


class _Allowance:
    """How much of an archive, with the archives in it, has been unpacked."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._files = self._bytes = 0

    def open(self, file: BinaryIO) -> None:
        """Count the entries of an archive before its table of contents takes any memory."""
        tail = b""
        while piece := file.read(2**20):
            self._files += (tail + piece).count(_ENTRY)
            tail = piece[-len(_ENTRY) + 1 :]
            if self._files > MEMBER_LIMIT:
                raise InputError(
                    f"{self._where} holds more than {MEMBER_LIMIT:,} files: split it into several "
                    "archives, or unpack it and give the folder"
                )
        file.seek(0)

    def unpack(self, size: int) -> None:
        """Count the bytes of one file."""
        self._bytes += size
        if self._bytes > ARCHIVE_LIMIT:
            raise InputError(
                f"{self._where} unpacks to more than {ARCHIVE_LIMIT // 2**20} MiB: split it into "
                "several archives, or unpack it and give the folder"
            )


def _unzipped(
    file: BinaryIO, folder: PurePosixPath, where: str, allowance: _Allowance
) -> Iterator[_File]:
    """The files of an archive, and of the archives in it."""
    allowance.open(file)
    try:
        with zipfile.ZipFile(file) as archive:
            for member in sorted(archive.infolist(), key=lambda info: info.filename):
                if member.is_dir():
                    continue
                if member.file_size > RECORD_LIMIT:
                    raise InputError(f"{member.filename} in {where} is too large for a report")
                allowance.unpack(member.file_size)
                inner = folder / member.filename
                unpacked = archive.read(member)
                if inner.suffix.lower() == ".zip":
                    name = f"{inner} in {where}"
                    yield from _unzipped(io.BytesIO(unpacked), inner.parent, name, allowance)
                else:
                    yield _File(inner, partial(bytes, unpacked))
    except _BROKEN as error:
        raise InputError(f"{where} is not a whole zip archive: {error}") from error


def _read(path: Path) -> bytes:
    try:
        if path.stat().st_size > RECORD_LIMIT:
            raise InputError(f"{path} is too large for a report")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
