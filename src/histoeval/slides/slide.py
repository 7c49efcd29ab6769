"""A slide, or a plain image, as levels of pixels that regions are read from."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from histoeval.errors import InputError, reason_of
from histoeval.io.images import is_file, is_folder
from histoeval.slides.resolution import Resolution

Pixels = NDArray[np.uint8]
"""Rows, columns, and red, green, blue."""

WHITE = 255
"""The colour of pixels outside of the slide."""


class DamagedRegion(InputError):  # noqa: N818 - reads better than DamagedRegionError
    """A part of a slide cannot be read; the rest of it may well be."""


class TruncatedSlide(InputError):  # noqa: N818 - reads better than TruncatedSlideError
    """A file ends before its data do."""


class ContradictorySlide(InputError):  # noqa: N818 - as above
    """What a file states of itself cannot all be true, so no library may have it."""


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
        self.resolution = resolution
        self.notes = notes

    @property
    def width(self) -> int:
        """Of level 0, in pixels."""
        return self.levels[0].width

    @property
    def height(self) -> int:
        """Of level 0, in pixels."""
        return self.levels[0].height

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
    """Levels from their sizes; those that do not get smaller are skipped."""
    width, height = sizes[0]
    levels = [SlideLevel(width, height, 1.0)]
    for w, h in sizes[1:]:
        if w and h and w < levels[-1].width:
            levels.append(SlideLevel(w, h, (width / w + height / h) / 2))
    return tuple(levels)


def on_white(picture: Image.Image) -> Pixels:
    """The pixels of an image on a white background, like glass."""
    if picture.mode == "RGBA" and picture.getchannel("A").getextrema()[0] < WHITE:
        page = Image.new("RGBA", picture.size, (WHITE,) * 4)
        picture = Image.alpha_composite(page, picture)
    return np.asarray(picture.convert("RGB"))


def damaged(path: Path, x: int, y: int, reason: object) -> DamagedRegion:
    """The error for a region that cannot be decoded."""
    if (lost := gone(path)) is not None:
        return DamagedRegion(lost)
    if isinstance(reason, Exception):
        no_memory = isinstance(reason, MemoryError)
        reason = "there is not enough memory" if no_memory else reason_of(reason)
    return DamagedRegion(f"{path.name}: the region at {x}, {y} cannot be read: {reason}")


def unreadable(path: Path, error: Exception, kind: str = "file") -> InputError:
    """The error for a file that a library cannot read, with its cause; most often damage."""
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
    """That a file which could be opened is not there now; libraries tell it in many ways."""
    if is_file(path) or is_folder(path):
        return None
    return f"{path} went away while it was read: is its disk or network share still connected?"


Window = tuple[slice, slice]
"""Rows and columns."""


class RegionBlock(NamedTuple):
    """The part of a region that one block holds: `within` the block, and `target` in the region."""

    column: int
    row: int
    within: Window
    target: Window


def region_blocks(
    x: int, y: int, width: int, height: int, block: tuple[int, int]
) -> Iterator[RegionBlock]:
    """The blocks that a region is made of, where blocks have this width and height."""
    for row, within_rows, target_rows in _spans(y, height, block[1]):
        for column, within_columns, target_columns in _spans(x, width, block[0]):
            yield RegionBlock(
                column, row, (within_rows, within_columns), (target_rows, target_columns)
            )


def _spans(start: int, length: int, block: int) -> Iterator[tuple[int, slice, slice]]:
    """The same along one axis."""
    for number in range(start // block, (start + length - 1) // block + 1):
        first = max(start, number * block)
        last = min(start + length, (number + 1) * block)
        within = slice(first - number * block, last - number * block)
        yield number, within, slice(first - start, last - start)
