"""Slides that stay open for a viewer, and their tiles as JPEG.

A viewer asks for hundreds of tiles. So the slides that were asked for last stay open, each read by
one process and by one request after the other; the oldest are closed when there are too many, and
all when nobody asks any more. Encoded tiles are kept up to a number of bytes, so memory stays flat.
"""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from histoeval.errors import InputError
from histoeval.io.images import check_image
from histoeval.slides.isolated import prepare
from histoeval.slides.open import open_slide
from histoeval.slides.slide import Pixels, Slide

SIDE = 256  # pixels along a side of a tile
REACH = 4  # coarser than the coarsest stored level, the levels of a viewer go by this factor
BLOCK = 1024  # pixels of a stored level along a side that are read at once
EXACT = 1e-3  # a level that differs from a stored one by less is that level


class NoSuchTile(InputError):  # noqa: N818 - reads better than NoSuchTileError
    """A tile that lies outside of a slide was asked for."""


class TilePyramid:
    """The tiles of an open slide; level, column and row count from 0."""

    def __init__(self, slide: Slide) -> None:
        self.slide = slide
        longer = max(slide.width, slide.height)
        self.max_level = math.ceil(math.log2(longer))
        single = max(0, self.max_level - math.ceil(math.log2(max(1.0, longer / SIDE))))
        coarsest = slide.levels[-1].downsample * REACH * (1 + EXACT)
        self.min_level = next(
            level for level in range(single, self.max_level + 1) if self.scale(level) <= coarsest
        )

    def scale(self, level: int) -> int:
        """Pixels of the slide along a side for each pixel of a level."""
        return 1 << (self.max_level - level)

    def size(self, level: int) -> tuple[int, int]:
        scale = self.scale(level)
        return math.ceil(self.slide.width / scale), math.ceil(self.slide.height / scale)

    def grid(self, level: int) -> tuple[int, int]:
        width, height = self.size(level)
        return math.ceil(width / SIDE), math.ceil(height / SIDE)

    def tile(self, level: int, column: int, row: int) -> Pixels:
        """The pixels of a tile; those at the right and lower edge are smaller."""
        if not self.min_level <= level <= self.max_level:
            raise NoSuchTile(
                f"there is no level {level}: they run from {self.min_level} to {self.max_level}"
            )
        columns, rows = self.grid(level)
        if not (0 <= column < columns and 0 <= row < rows):
            raise NoSuchTile(
                f"there is no tile in column {column}, row {row} of level {level}, which has "
                f"{columns} x {rows} tiles"
            )
        width, height = self.size(level)
        left, top = column * SIDE, row * SIDE
        return self._read(level, left, top, min(SIDE, width - left), min(SIDE, height - top))

    def _read(self, level: int, left: int, top: int, width: int, height: int) -> Pixels:
        scale = self.scale(level)
        finest = scale * (1 + EXACT)
        number = max(n for n, at in enumerate(self.slide.levels) if at.downsample <= finest)
        stored = self.slide.levels[number]
        across = scale * stored.width / self.slide.width
        down = scale * stored.height / self.slide.height
        if max(abs(across - 1), abs(down - 1)) < EXACT:
            return self.slide.region(number, left, top, width, height)
        if max(width * across, height * down) > BLOCK * (1 + EXACT) and min(width, height) > 1:
            half, middle = width // 2, height // 2  # quarters, so that memory stays flat
            columns = ((left, half), (left + half, width - half))
            rows = ((top, middle), (top + middle, height - middle))
            return np.vstack(
                [np.hstack([self._read(level, x, y, w, h) for x, w in columns]) for y, h in rows]
            )
        box = (left * across, top * down, (left + width) * across, (top + height) * down)
        x, y = math.floor(box[0]), math.floor(box[1])
        right = max(x + 1, min(math.ceil(box[2]), stored.width))
        bottom = max(y + 1, min(math.ceil(box[3]), stored.height))
        pixels = self.slide.region(number, x, y, right - x, bottom - y)
        within = (box[0] - x, box[1] - y, min(box[2], right) - x, min(box[3], bottom) - y)
        shrunk = Image.fromarray(pixels).resize((width, height), Image.Resampling.BOX, within)
        return np.asarray(shrunk)


MOST = 4  # slides that are open at the same time
IDLE_SECONDS = 120.0  # a slide that nobody has asked for so long is closed
CACHE_BYTES = 32 << 20  # of encoded tiles: a few hundred of them
QUALITY = 85
FileState = tuple[Path, int, int]  # a file as it was: where, when it was written, and how large
TileKey = tuple[FileState, int, int, int]


class TileCache:
    """The tiles that were asked for last, up to a number of bytes. Threads may share it."""

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self._most = most
        self._tiles: OrderedDict[TileKey, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: TileKey) -> bytes | None:
        with self._lock:
            if (tile := self._tiles.get(key)) is not None:
                self._tiles.move_to_end(key)
            return tile

    def put(self, key: TileKey, tile: bytes) -> None:
        """Keep a tile, and drop those that were not asked for longest."""
        with self._lock:
            self.bytes += len(tile) - len(self._tiles.pop(key, b""))
            self._tiles[key] = tile
            while self.bytes > self._most and len(self._tiles) > 1:
                _, dropped = self._tiles.popitem(last=False)
                self.bytes -= len(dropped)


@dataclass(eq=False)
class _OpenSlide:
    lock: threading.Lock = field(default_factory=threading.Lock)
    users: int = 0  # requests that use it now
    used_at: float = 0.0
    pyramid: TilePyramid | None = None  # only for who holds the lock

    def close(self) -> None:
        with self.lock:
            if self.pyramid is not None:
                self.pyramid.slide.close()
                self.pyramid = None


class OpenSlides:
    """A few open slides and their latest tiles, for as many threads as there are."""

    def __init__(
        self,
        most: int = MOST,
        idle_seconds: float = IDLE_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._clock = clock
        self._slides: OrderedDict[FileState, _OpenSlide] = OrderedDict()
        self._lock = threading.Lock()
        self._readers = threading.BoundedSemaphore(most)
        self._sweeper: threading.Timer | None = None
        self._is_prepared = False
        self.tiles = TileCache()

    def __len__(self) -> int:
        with self._lock:
            return len(self._slides)

    def prepare(self) -> None:
        """Get ready for the first slide, without waiting for it."""
        if not self._is_prepared:
            self._is_prepared = True
            threading.Thread(target=prepare, daemon=True).start()

    @contextmanager
    def pyramid(self, path: Path) -> Iterator[TilePyramid]:
        """The tiles of a slide, for one request at a time."""
        with self._readers, self._using(file_state(path)) as slide, slide.lock:
            slide.pyramid = slide.pyramid or TilePyramid(open_slide(path))
            yield slide.pyramid

    def jpeg(self, path: Path, level: int, column: int, row: int) -> bytes:
        key = (file_state(path), level, column, row)
        if (cached := self.tiles.get(key)) is not None:
            return cached
        with self.pyramid(path) as pyramid:
            pixels = pyramid.tile(level, column, row)
        stream = BytesIO()
        Image.fromarray(pixels).save(stream, "JPEG", quality=QUALITY)
        encoded = stream.getvalue()
        self.tiles.put(key, encoded)
        return encoded

    def close_idle(self) -> None:
        latest = self._clock() - self._idle_seconds
        with self._lock:
            self._sweeper = None
            idle = [
                state
                for state, slide in self._slides.items()
                if not slide.users and slide.used_at <= latest
            ]
            dropped = [self._slides.pop(state) for state in idle]
            self._sweep_later()
        for slide in dropped:
            slide.close()

    def close(self) -> None:
        with self._lock:
            dropped = list(self._slides.values())
            self._slides.clear()
            if self._sweeper is not None:
                self._sweeper.cancel()
                self._sweeper = None
        for slide in dropped:
            slide.close()

    @contextmanager
    def _using(self, state: FileState) -> Iterator[_OpenSlide]:
        with self._lock:
            slide = self._slides.pop(state, None) or _OpenSlide()
            self._slides[state] = slide
            slide.users += 1
            unused = [state for state, slide in self._slides.items() if not slide.users]
            surplus = max(0, len(self._slides) - self._most)
            dropped = [self._slides.pop(state) for state in unused[:surplus]]
        for surplus_slide in dropped:
            surplus_slide.close()
        try:
            yield slide
        finally:
            with self._lock:
                slide.users -= 1
                slide.used_at = self._clock()
                self._sweep_later()

    def _sweep_later(self) -> None:
        if self._slides and self._sweeper is None:
            self._sweeper = threading.Timer(self._idle_seconds, self.close_idle)
            self._sweeper.daemon = True
            self._sweeper.start()


def file_state(path: Path) -> FileState:
    """A value that changes with the slide; `InputError` where there is none."""
    check_image(path)
    status = path.stat()
    return path, status.st_mtime_ns, status.st_size
