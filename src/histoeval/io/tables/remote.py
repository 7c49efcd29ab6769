"""Inputs that lie elsewhere (s3://, gs://, https:// …): copied here before they are read."""

import atexit
import shutil
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp

from histoeval.errors import InputError, MissingDependency, OutputError

ADDRESS = "://"


def local_input(name: str | Path) -> Path:
    """Return the path of an input; a remote one is copied first, and removed at the end.

    Inputs are read more than once, at any position, and hashed, so a copy is read. Only its
    owner may read it.
    """
    address = str(name)
    return _copy(address) if ADDRESS in address else Path(address)


def demand_local_output(path: Path) -> None:
    protocol, separator, remainder = (path.parts or ("",))[0].partition(":")
    if separator and not remainder and len(protocol) > 1:
        raise OutputError(
            f"results cannot be written to {protocol}{ADDRESS}: give a folder of this machine, or "
            "of storage that all machines share, and copy it there afterwards"
        )


@cache
def _copy(address: str) -> Path:
    try:
        from fsspec.core import url_to_fs

        source, remote_path = url_to_fs(address)
    except ImportError as error:
        raise MissingDependency(
            f"{address} needs packages that are not installed ({error}): pip install fsspec, and "
            "the one of its protocol: s3fs for s3://, gcsfs for gs://, adlfs for abfs://, aiohttp "
            "and requests for https://"
        ) from error
    except ValueError as error:
        raise InputError(f"{address} cannot be read: {error}") from error
    folder = Path(mkdtemp(prefix="histoeval-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    copy = folder / (PurePosixPath(str(remote_path).partition("?")[0]).name or "input")
    try:
        source.get(str(remote_path), str(copy), recursive=bool(source.isdir(str(remote_path))))
    except FileNotFoundError:
        raise InputError(f"{address} does not exist") from None
    except Exception as error:
        raise InputError(f"{address} cannot be read: {type(error).__name__}: {error}") from error
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copy
