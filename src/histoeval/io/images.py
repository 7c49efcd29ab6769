"""Image files: checks that one can be opened, and hashes that identify it."""

import hashlib
import os
import stat
from pathlib import Path

from histoeval.errors import InputError, OutputError, Problem
from histoeval.io.store import ADVICE

# What may have the name of an image; to open it could wait for ever.
NO_FILES = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}

# Bytes up to which a file is hashed whole; a larger one by its size and by pieces of it.
HASHED_WHOLE = 32 << 20

# Never an error, as the methods of `Path` may be.
is_folder, is_file = os.path.isdir, os.path.isfile

PIECES, PIECE_BYTES = 16, 256 << 10


def check_image(path: Path) -> None:
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} cannot be opened: {error.strerror}") from error
    except ValueError as error:  # a character that no file name has
        raise InputError(f"{path} cannot be the name of a file: {error}") from error
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise InputError(f"{path} is {NO_FILES.get(kind, 'no file')}, not an image or slide")


def find_image(folder: Path, name: str) -> Path | Problem:
    """Return the image that a row names, or a problem if it cannot be opened."""
    path = folder / name
    try:
        check_image(path)
    except InputError as error:
        if isinstance(error.__cause__, FileNotFoundError | NotADirectoryError):
            return Problem("missing_image", f"the image {name} does not exist")
        return Problem("image_unusable", f"the image {str(error).replace(str(path), name)}")
    return path


def refuse_changed(name: str, path: Path, before: str | None) -> None:
    """Refuse to resume after an image whose row is finished has changed.

    `before` is its hash in that row. Where there is none, or none now, nothing can be compared.
    """
    current_hash = None if before is None else image_hash(path)
    if current_hash is not None and current_hash != before:
        raise OutputError(f"the image {name} has changed since its row was written; {ADVICE}")


def image_hash(path: Path) -> str | None:
    """Hash an image, to notice changes; None if it cannot be read.

    A large file is hashed by its size and 16 pieces of it, for gigabytes would take too long, and
    a folder that belongs to a slide by the names and sizes of its files.
    """
    try:
        if not is_folder(path):
            return _file_hash(path)
        digest = hashlib.sha256()
        for part in sorted(path.iterdir()):
            digest.update(part.name.encode("utf-8", "surrogateescape"))
            digest.update(_listing(part) if is_folder(part) else _file_hash(part).encode())
        return digest.hexdigest()
    except (OSError, ValueError):
        return None


def _file_hash(path: Path) -> str:
    if not is_file(path):
        raise ValueError("not a file")
    size = path.stat().st_size
    digest = hashlib.sha256(str(size).encode())
    with path.open("rb") as file:
        if size <= HASHED_WHOLE:
            digest.update(file.read())
        else:
            for piece in range(PIECES):
                file.seek((size - PIECE_BYTES) * piece // (PIECES - 1))
                digest.update(file.read(PIECE_BYTES))
    pixel_folder = {".mrxs": path.stem, ".dzi": f"{path.stem}_files"}.get(path.suffix.lower())
    if pixel_folder is not None:  # the folder that has the pixels of a MIRAX or DeepZoom slide
        digest.update(_listing(path.with_name(pixel_folder)))
    return digest.hexdigest()


def _listing(folder: Path) -> bytes:
    files = sorted((path, path.lstat()) for path in folder.rglob("*"))
    lines = [f"{path.relative_to(folder)}\0{status.st_size}" for path, status in files]
    return "\n".join(lines).encode("utf-8", "surrogateescape")
