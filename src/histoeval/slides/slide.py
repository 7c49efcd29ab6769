"""A slide, or a plain image, as levels of pixels that regions are read from.

Its microns per pixel are stated by the file, given by the user, or missing; never guessed. An
objective power ("20x") is not a resolution, and dots per inch of an image are about paper, so
neither is used; only a length per pixel that a microscope can have is.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import InputError, reason_of
from histoeval.io.images import is_file, is_folder
from histoeval.resources import load_toml

Pixels = NDArray[np.uint8]  # rows, columns, and red, green, blue

# range of microns per pixel of scanned slides; 72 dots per inch would be 353
FINEST, COARSEST = 0.02, 10.0
WHITE = 255  # the colour of pixels outside of the slide


class DamagedRegion(InputError):  # noqa: N818 - reads better than DamagedRegionError
    """A part of a slide cannot be read; the rest of it may well be."""


class TruncatedSlide(InputError):  # noqa: N818 - reads better than TruncatedSlideError
    """A file ends before its data do."""


class ContradictorySlide(InputError):  # noqa: N818 - as above
    """The statements of a file contradict each other, so no library may open it."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """Microns per pixel of the finest level along x and y, and their source."""

    x: float
    y: float
    source: Literal["file", "given"]

    @property
    def mean(self) -> float:
        return math.sqrt(self.x * self.y)


def is_plausible(microns: float) -> bool:
    return math.isfinite(microns) and FINEST <= microns <= COARSEST


def stated_resolution(x: float | None, y: float | None) -> Resolution | None:
    if x is None or y is None or not (is_plausible(x) and is_plausible(y)):
        return None
    return Resolution(x, y, "file")


def text_number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text.replace(",", "."))
    except ValueError:
        return None


class SlideLevel(NamedTuple):
    """One resolution of a slide; `downsample` is the number of level 0 pixels per pixel."""

    width: int
    height: int
    downsample: float


class Slide(ABC):
    """An opened slide. Several threads may read from it at once.

    `format` is a human-readable name, `levels` run from fine to coarse, `resolution` is that of
    level 0 or None, and `notes` are remarks on the file for the user.
    """

    def __init__(
        self,
        path: Path,
        format_: str,
        levels: tuple[SlideLevel, ...],
        resolution: Resolution | None,
        notes: tuple[str, ...] = (),
    ) -> None:
        self.path = path
        self.format = format_
        self.levels = levels
        self.width, self.height = levels[0].width, levels[0].height
        self.resolution = resolution
        self.notes = notes

    def region(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        """Pixels of a level; x and y are in pixels of that level, and beyond its edge all is white.

        Raises `DamagedRegion` if the file cannot be decoded there.
        """
        size = self.levels[level]
        left, top = max(x, 0), max(y, 0)
        right, bottom = min(x + width, size.width), min(y + height, size.height)
        if right <= left or bottom <= top:
            return np.full((height, width, 3), WHITE, np.uint8)
        inside = self._read(level, left, top, right - left, bottom - top)
        if inside.shape == (height, width, 3):
            return inside
        pixels = np.full((height, width, 3), WHITE, np.uint8)
        pixels[top - y : bottom - y, left - x : right - x] = inside
        return pixels

    @abstractmethod
    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        """Read a region that lies inside the level."""

    def close(self) -> None:  # noqa: B027 - an image in memory has nothing to close
        """Close the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def levels_of(sizes: list[tuple[int, int]]) -> tuple[SlideLevel, ...]:
    width, height = sizes[0]
    levels = [SlideLevel(width, height, 1.0)]
    for w, h in sizes[1:]:
        if w and h and w < levels[-1].width:
            levels.append(SlideLevel(w, h, (width / w + height / h) / 2))
    return tuple(levels)


def on_white(picture: Image.Image) -> Pixels:
    if picture.mode == "RGBA" and picture.getchannel("A").getextrema()[0] < WHITE:
        page = Image.new("RGBA", picture.size, (WHITE,) * 4)
        picture = Image.alpha_composite(page, picture)
    return np.asarray(picture.convert("RGB"))


def damaged(path: Path, x: int, y: int, reason: object) -> DamagedRegion:
    if (lost := gone(path)) is not None:
        return DamagedRegion(lost)
    if isinstance(reason, MemoryError):
        reason = "there is not enough memory"
    elif isinstance(reason, Exception):
        reason = reason_of(reason)
    return DamagedRegion(f"{path.name}: the region at {x}, {y} cannot be read: {reason}")


def unreadable(path: Path, error: Exception, kind: str = "file") -> InputError:
    """The error for a file that a library cannot read, with its cause: most often damage."""
    if isinstance(error, InputError):
        return error
    if (lost := gone(path)) is not None:
        return InputError(lost)
    if isinstance(error, MemoryError):
        return InputError(f"{path} needs more memory than there is")
    if isinstance(error, ImportError) or "requires the 'imagecodecs' package" in str(error):
        return InputError(f"{path} is stored with a codec that is not installed: {error}")
    if isinstance(error, OSError) and error.errno is not None:
        return InputError(f"{path} cannot be read: {error.strerror}")
    return InputError(f"{path} is a damaged {kind}: {reason_of(error)}")


def gone(path: Path) -> str | None:
    """A message if the file is no longer there, which libraries tell in many ways; else None."""
    if is_file(path) or is_folder(path):
        return None
    return f"{path} went away while it was read: is its disk or network share still connected?"


Window = tuple[slice, slice]  # rows and columns


def region_blocks(
    x: int, y: int, width: int, height: int, block: tuple[int, int]
) -> Iterator[tuple[int, int, Window, Window]]:
    """Column and row of each block of a region, its part within the block and in the region."""

    def spans(start: int, length: int, side: int) -> Iterator[tuple[int, slice, slice]]:
        for number in range(start // side, (start + length - 1) // side + 1):
            first = max(start, number * side)
            last = min(start + length, (number + 1) * side)
            within = slice(first - number * side, last - number * side)
            yield number, within, slice(first - start, last - start)

    for row, within_rows, target_rows in spans(y, height, block[1]):
        for column, within_columns, target_columns in spans(x, width, block[0]):
            within, target = (within_rows, within_columns), (target_rows, target_columns)
            yield column, row, within, target


HEAD_BYTES = 132 + 4  # the DICOM signature follows 128 bytes

KINDS = load_toml("slides/kinds.toml")
SIGNATURES = {
    begin.encode("latin-1"): kind for kind, row in KINDS.items() for begin in row.get("begins", ())
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


def named_type(path: Path) -> str | None:
    """The type that the file name stands for; None for extensions that are not of images."""
    ending = path.suffix.lower().removeprefix(".")
    return next((kind for kind, row in KINDS.items() if ending in row["endings"]), None)


def checked_type(path: Path) -> str:
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
