"""The type of an image file, by its first bytes and not by its name."""

from functools import cache
from pathlib import Path

from histoeval.errors import InputError
from histoeval.resources import load_toml

HEAD_BYTES = 132 + 4
"""The DICOM signature follows 128 bytes."""

SIGNATURES = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"II*\x00": "tiff",
    b"MM\x00*": "tiff",
    b"II+\x00": "tiff",
    b"MM\x00+": "tiff",
    b"BM": "bmp",
}


def file_type(path: Path) -> str:
    """The type of a file, such as `png`; `unknown` if its first bytes are not those of an image."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        return "empty"
    if head[128:132] == b"DICM":
        return "dicom"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if path.suffix.lower() == ".dzi":
        return "deepzoom"
    return next(
        (kind for signature, kind in SIGNATURES.items() if head.startswith(signature)), "unknown"
    )


@cache
def _kinds() -> dict[str, str]:
    """The type that each file name extension stands for."""
    table = load_toml("slides/kinds.toml")
    return {f".{ending}": kind for kind, endings in table.items() for ending in endings}


def named_type(path: Path) -> str | None:
    """The type that the file name stands for; None for extensions that are not of images."""
    return _kinds().get(path.suffix.lower())


def checked_type(path: Path) -> str:
    """The type of a file; refused if it is not an image or its name says otherwise."""
    content, promise = file_type(path), named_type(path)
    if content == "empty":
        raise InputError(f"{path} is empty")
    if promise == "any":
        return "any"
    if content == "unknown" and promise is not None:
        raise InputError(f"{path} is not an image, although its name says so")
    if promise not in {None, content}:
        raise InputError(
            f"{path} ends in {path.suffix} but contains {content.upper()}; rename or replace it"
        )
    return content
