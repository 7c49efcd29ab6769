"""Files of results: written whole or not at all, readable by their owner only, never an input.

Results hold report texts, so files are created with mode 0600 and folders with 0700 whatever the
umask is; what exists keeps its mode. `HISTOEVAL_SHARED_FILES=1` leaves both to the umask.
"""

import errno
import json
import os
import socket
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, SoftFileLock, Timeout

from histoeval.errors import OutputError

# Set this in the environment to 1 where colleagues share result folders.
SHARED = "HISTOEVAL_SHARED_FILES"

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

FileIdentity = tuple[int, int]  # device and inode, which are the same for every link to a file
_inputs: ContextVar[frozenset[FileIdentity]] = ContextVar("inputs", default=frozenset())


@contextmanager
def protecting(inputs: Iterable[Path]) -> Iterator[None]:
    """Keep this module from replacing, removing or extending these files meanwhile.

    Links count as their targets. Folders are not searched.
    """
    token = _inputs.set(_inputs.get())
    try:
        protect(inputs)
        yield
    finally:
        _inputs.reset(token)


def protect(inputs: Iterable[Path]) -> None:
    identities = map(_identity, inputs)
    _inputs.set(_inputs.get() | {identity for identity in identities if identity is not None})


def check_not_input(outputs: Iterable[Path]) -> None:
    """Refuse outputs if one of them is an input, before anything is done.

    A folder may be both: files in it are checked one by one.
    """
    inputs = _inputs.get()
    for path in outputs if inputs else ():
        if _identity(path) in inputs:
            raise OutputError(
                f"{path} is an input of this run, and inputs are never replaced; give another "
                "name for the output"
            )


def _identity(path: Path) -> FileIdentity | None:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return None if stat.S_ISDIR(status.st_mode) else (status.st_dev, status.st_ino)


def file_mode() -> int:
    return 0o666 if _is_shared() else 0o600


def make_folder(path: Path) -> None:
    """Make a folder and its missing parents, readable by their owner only."""
    missing_folders = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing_folders):
        folder.mkdir(0o777 if _is_shared() else 0o700, exist_ok=True)
    path.mkdir(exist_ok=True)


def _is_shared() -> bool:
    return os.environ.get(SHARED, "") not in ("", "0")


def remove(path: Path) -> None:
    """Remove a file if it exists; refuse to remove an input."""
    check_not_input([path])
    path.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path, *, private: bool = True) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it is written completely."""
    draft = path.with_name(f"{path.name}.part")
    check_not_input([path, draft])
    # A file takes the place of what has its name, and must not take that of a device.
    is_device = path.exists() and not (path.is_file() or path.is_dir())
    if is_device or path.parent == Path("/dev"):
        raise OutputError(f"{path} is a device or a pipe: name a file for the output")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, _NEW, file_mode() if private else 0o666), "wb") as file:
            yield file
        draft.replace(path)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def write_whole(path: Path, content: bytes, *, private: bool = True) -> None:
    """Write a whole file or none of it; files without report texts need not be private."""
    with whole_file(path, private=private) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a whole file or none of it; lone surrogates are escaped."""
    write_whole(path, text.encode("utf-8", "backslashreplace"))


def write_json(path: Path, content: Mapping[str, Any], *, private: bool = True) -> None:
    """Write a whole file or none of it; file names that are not Unicode are escaped."""
    text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
    write_whole(path, text.encode("utf-8", "backslashreplace"), private=private)


@contextmanager
def writing_to(home: Path) -> Iterator[None]:
    """Turn an `OSError` in writing, as of a full disk, into an `OutputError`."""
    try:
        yield
    except OSError as error:
        message = f"cannot use {home} for results: {error.strerror or error}"
        if error.errno in _NO_ROOM:
            message += "; finished rows are kept: make room, then run the same command again"
        raise OutputError(message) from error


@contextmanager
def locked(
    lock: Path, home: Path, advice: str = "wait until that has ended, or give another --output"
) -> Iterator[None]:
    """Exclude all other processes; a stale lock file does not count."""
    file_lock = FileLock(lock, mode=file_mode(), thread_local=False)
    with writing_to(home):
        try:
            file_lock.acquire(blocking=False)
        except Timeout:
            holder = ""
            with suppress(OSError, ValueError):
                holder = lock.read_text("utf-8").strip()
            holder_note = f" ({holder})" if holder.startswith("process ") else ""
            raise OutputError(
                f"{home} is being written by another run{holder_note}; {advice}"
            ) from None
    is_soft = isinstance(file_lock, SoftFileLock)  # its own file, on disks that have no locks
    try:
        if not is_soft:
            with suppress(OSError):
                lock.write_text(f"process {os.getpid()} on {socket.gethostname()}", "utf-8")
        yield
    finally:
        if not is_soft:
            with suppress(OSError):
                lock.unlink()
        file_lock.release()
