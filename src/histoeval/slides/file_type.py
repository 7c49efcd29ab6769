"""What a file holds, told by its first bytes and not by its name."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from histoeval.errors import InputError
from histoeval.resources import load_toml

HEAD_BYTES = 132 + 4
"""DICOM signs after 128 bytes."""

SIGNS = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"II*\x00": "tiff",
    b"MM\x00*": "tiff",
    b"II+\x00": "tiff",
    b"MM\x00+": "tiff",
    b"BM": "bmp",
}


def content_of(path: Path) -> str:
    """A word for what a file holds; `unknown` for what is not an image by its first bytes."""
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
    return next((kind for sign, kind in SIGNS.items() if head.startswith(sign)), "unknown")


@cache
def _kinds() -> dict[str, str]:
    """What the ending of a name promises."""
    table = load_toml("slides/kinds.toml")
    return {f".{ending}": kind for kind, endings in table.items() for ending in endings}


def promised(path: Path) -> str | None:
    """What the name of a file says that it holds; nothing for endings that are not of images."""
    return _kinds().get(path.suffix.lower())


def checked_content(path: Path) -> str:
    """What a file holds, where it is an image and its name does not say otherwise."""
    content, promise = content_of(path), promised(path)
    if content == "empty":
        raise InputError(f"{path} is empty")
    if promise == "any":
        return "any"
    if content == "unknown" and promise is not None:
        raise InputError(
            f"{path} is not an image, although its name says so: it begins with {_head(path)}"
        )
    if promise not in {None, content}:
        raise InputError(
            f"{path} ends in {path.suffix} but holds {content.upper()}; rename it if it is right"
        )
    return content


def _head(path: Path) -> str:
    """The first bytes, for people."""
    with path.open("rb") as file:
        return repr(file.read(16))[1:]
