"""The documents of an annotation project: one file, a folder, or a zip archive of them."""

import io
import lzma
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

from histoeval.errors import InputError
from histoeval.io.tables.records import RECORD_LIMIT

TYPESYSTEM = "typesystem.xml"
# where a project of INCEpTION has a folder per document with a file per annotator
PROJECT_FOLDERS = ("annotation", "curation")

NOT_ANNOTATED = "INITIAL_CAS"  # what INCEpTION calls the copy of a document without annotations

# the most bytes that an archive may unpack to, with the archives in it; all are in memory
ARCHIVE_LIMIT = 256 * 2**20

MEMBER_LIMIT = 20_000  # the most files that an archive may hold, with the archives in it

SPLIT_IT = "split it into several archives, or unpack it and give the folder"

_ENTRY = b"PK\x01\x02"  # each entry of the table of contents of an archive begins so

_BROKEN = (  # what `zipfile` raises for archives that are damaged, encrypted or of another kind
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


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

    @property
    def ending(self) -> str:
        return self.path.suffix.lower()

    @property
    def report(self) -> str:
        """The document that it annotates: in a project of INCEpTION that of its folder."""
        if self.path.parent.parent.name in PROJECT_FOLDERS:
            return PurePosixPath(self.path.parent.name).stem
        return self.path.with_suffix("").as_posix()


def documents(path: Path, ending: str) -> Iterator[Document]:
    """The documents with this ending, in the order of their names.

    Where one annotator worked on a document its name says enough, else the annotator's is added.
    """
    files = [file for file in _files(path) if file.path.stem != NOT_ANNOTATED]
    wanted = [file for file in files if file.ending == ending]
    if not wanted:
        raise InputError(f"{path} holds no file that ends in {ending}")
    is_single = not path.is_dir() and path.suffix.lower() != ".zip"
    beside = _on_disk(path.parent.iterdir(), path.parent) if is_single else files
    types = {f.path.parent: f.read for f in beside if f.path.name.lower() == TYPESYSTEM}
    texts = {file.path: file.read for file in beside if file.ending == ".txt"}
    count = Counter(file.report for file in wanted)
    for file in wanted:
        name = file.report if count[file.report] == 1 else f"{file.report}/{file.path.stem}"
        typesystem = types.get(file.path.parent) or next(iter(types.values()), None)
        text = texts.get(file.path.with_suffix(".txt"))
        content = file.read(), typesystem and typesystem(), text and text()
        yield Document(name, file.report, *content)


def endings(path: Path) -> set[str]:
    return {file.ending for file in _files(path)}


def _files(path: Path) -> Sequence[_File]:
    try:
        if path.suffix.lower() == ".zip" and not path.is_dir():
            with path.open("rb") as file:
                return list(_unzipped(file, PurePosixPath(), str(path), _Allowance(str(path))))
        return _on_disk(path.rglob("*") if path.is_dir() else [path], path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _on_disk(paths: Iterable[Path], folder: Path) -> list[_File]:
    files = sorted(path for path in paths if path.is_file())
    names = [path.relative_to(folder).as_posix() for path in files]
    return [
        _File(PurePosixPath(name if name != "." else path.name), partial(_read, path))
        for name, path in zip(names, files, strict=True)
    ]


class _Allowance:
    """A limit on the files and bytes of an archive, with the archives in it."""

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
                most = f"{MEMBER_LIMIT:,} files"
                raise InputError(f"{self._where} holds more than {most}: {SPLIT_IT}")
        file.seek(0)

    def unpack(self, size: int) -> None:
        self._bytes += size
        if self._bytes > ARCHIVE_LIMIT:
            most = f"{ARCHIVE_LIMIT // 2**20} MiB"
            raise InputError(f"{self._where} unpacks to more than {most}: {SPLIT_IT}")


def _unzipped(
    file: BinaryIO, folder: PurePosixPath, where: str, allowance: _Allowance
) -> Iterator[_File]:
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
