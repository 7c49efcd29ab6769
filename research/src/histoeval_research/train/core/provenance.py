"""What a training is known by: its settings, hashes of its data, and the versions it ran with."""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from histoeval.errors import InputError
from histoeval.version import __version__


def request_of(
    task: str, settings: Any, files: Mapping[str, Path], *, exclude: Any = frozenset(), **own: Any
) -> dict[str, Any]:
    """What makes two trainings the same, without any path: equal requests give equal models.

    `exclude` are the settings that name files, models and folders; `own` are further facts.
    """
    left_out = dict.fromkeys(("encoder", "output"), True) | (
        dict(exclude) if isinstance(exclude, Mapping) else dict.fromkeys(exclude, True)
    )
    dumped: BaseModel = settings
    return {
        "task": task,
        "encoder": encoder_name(settings.encoder),
        "settings": dumped.model_dump(mode="json", exclude=left_out),
        "data": {label: file_of(path) for label, path in files.items()},
        **own,
    }


def by_name(files: Iterable[Path | None]) -> dict[str, Path]:
    """Files by their names, of which results must be able to tell them apart."""
    given = [file for file in files if file is not None]
    named = {file.name: file for file in given}
    if len(named) < len(given):
        raise InputError("two files have the same name: in results they could not be distinguished")
    return named


def file_of(path: Path) -> dict[str, str]:
    """A file by its name and its content."""
    return {"name": path.name, "sha256": sha256_of(path)}


def identity_of(request: Mapping[str, Any]) -> str:
    """A request as a hash."""
    return hashlib.sha256(json.dumps(request, sort_keys=True).encode()).hexdigest()


def sha256_of(path: Path, patterns: Sequence[str] = ("**/*",)) -> str:
    """The hash of a file, or of the files of a folder that the patterns match, and their names."""
    if not path.exists():
        raise InputError(f"{path} does not exist")
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    files = sorted({f for pattern in patterns for f in path.glob(pattern) if f.is_file()})
    listed = [f"{file.relative_to(path).as_posix()} {sha256_of(file)}\n" for file in files]
    return hashlib.sha256("".join(listed).encode()).hexdigest()


def weights_of(folder: Path) -> dict[str, str]:
    """The hash of each file of weights in a folder."""
    files = [*folder.glob("*.onnx"), *folder.glob("*.safetensors")]
    return {file.name: sha256_of(file) for file in sorted(files)}


def lists_sha256(*contents: bytes) -> str:
    """The hash of word lists, one after the other."""
    return hashlib.sha256(b"".join(contents)).hexdigest()


def encoder_name(encoder: str) -> dict[str, str]:
    """An encoder by name; a folder also by its content, since its name says little."""
    folder = Path(encoder)
    if not folder.is_dir():
        return {"name": encoder}
    weights = "*.safetensors" if any(folder.glob("*.safetensors")) else "*.bin"
    kinds = (weights, "config.json", "token*", "vocab*", "merges*")
    return {"name": folder.name, "sha256": sha256_of(folder, kinds)}


def versions() -> dict[str, str]:
    """What the results of a training depend on besides its request."""
    libraries = ("torch", "transformers", "tokenizers", "numpy")
    return {"histoeval": __version__, "python": platform.python_version()} | {
        library: version(library) for library in libraries
    }
