"""Formats of openslide: SVS, NDPI, MRXS, SCN, BIF, Philips and pyramidal TIFF, and more."""

import threading
from pathlib import Path
from typing import Any

from histoeval.errors import MissingDependency
from histoeval.slides import require
from histoeval.slides.resolution import Resolution, stated, text_number
from histoeval.slides.slide import Pixels, Slide, damaged, levels_of, on_white, unreadable

CACHE_BYTES = 64 << 20
"""For decoded blocks, shared by all threads."""


def library() -> Any:
    """The package openslide, with its binary."""
    require("openslide")
    try:
        import openslide
    except ImportError as error:
        raise MissingDependency(
            "openslide-python is installed, but not the library that it needs; "
            "run: pip install openslide-bin"
        ) from error
    return openslide


def recognises(path: Path) -> str | None:
    """The name of the format, if openslide knows it."""
    name: str | None = library().OpenSlide.detect_format(str(path))
    return name


class OpenslideSlide(Slide):
    """A slide that openslide reads.

    After an error a handle of openslide is unusable. So each thread has its own and drops it when a
    region is damaged: one bad block costs one tile.
    """

    def __init__(self, path: Path) -> None:
        self._openslide = library()
        self._cache = self._openslide.OpenSlideCache(CACHE_BYTES)
        self._handles = threading.local()
        self._path = path
        try:
            handle = self._handle()
        except (self._openslide.OpenSlideError, OSError) as error:
            raise unreadable(path, error, "slide") from error
        sizes = [tuple(size) for size in handle.level_dimensions]
        properties = handle.properties
        self._numbers = [sizes.index((level.width, level.height)) for level in levels_of(sizes)]
        self._downsamples = handle.level_downsamples
        name = properties.get("openslide.vendor", "openslide")
        super().__init__(path, name, levels_of(sizes), _resolution(properties), _notes(properties))

    def _handle(self) -> Any:
        """This thread's own handle."""
        if (handle := getattr(self._handles, "handle", None)) is None:
            handle = self._openslide.OpenSlide(str(self._path))
            handle.set_cache(self._cache)
            self._handles.handle = handle
        return handle

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        number = self._numbers[level]
        scale = self._downsamples[number]
        place = (round(x * scale), round(y * scale))
        try:
            picture = self._handle().read_region(place, number, (width, height))
        except self._openslide.OpenSlideError as error:
            del self._handles.handle
            raise damaged(self.path, *place, error) from error
        return on_white(picture)

    def close(self) -> None:
        """Drop this thread's handle; those of other threads end with them."""
        self._handles = threading.local()


def _resolution(properties: Any) -> Resolution | None:
    x, y = (text_number(properties.get(f"openslide.mpp-{axis}")) for axis in "xy")
    return stated(x, y)


def _notes(properties: Any) -> tuple[str, ...]:
    power = properties.get("openslide.objective-power")
    return (f"objective {power}x, by the file",) if power else ()
