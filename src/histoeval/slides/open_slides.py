"""Slides that stay open for a viewer, and their tiles as JPEG.

A viewer asks for hundreds of tiles. So the slides that were asked for last stay open, each read by
one process and by one request after the other; the oldest are closed when there are too many, and
all when nobody asks any more. Encoded tiles are kept up to a number of bytes, so memory stays flat.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image

from histoeval.io.images import check_image
from histoeval.slides.isolated import prepare
from histoeval.slides.open import open_slide
from histoeval.slides.pyramid import TilePyramid
from histoeval.slides.slide import Pixels

MOST = 4
"""Slides that are open at the same time."""

IDLE_SECONDS = 120.0
"""A slide that nobody has asked for so long is closed."""

CACHE_BYTES = 32 << 20
"""Of encoded tiles: a few hundred of them."""

QUALITY = 85

FileState = tuple[Path, int, int]
"""A file as it was: where, when it was written, and how large."""

TileKey = tuple[FileState, int, int, int]


class TileCache:
    """The tiles that were asked for last, up to a number of bytes. Threads may share it."""

    def __init__(self, most: int = CACHE_BYTES) -> None:
        self._most = most
        self._tiles: OrderedDict[TileKey, bytes] = OrderedDict()
        self._lock = threading.Lock()
        self.bytes = 0

    def get(self, key: TileKey) -> bytes | None:
        """A tile, if it is still there."""
        with self._lock:
            if (found := self._tiles.get(key)) is not None:
                self._tiles.move_to_end(key)
            return found

    def put(self, key: TileKey, tile: bytes) -> None:
        """Keep a tile, and drop those that were not asked for longest."""
        with self._lock:
            self.bytes += len(tile) - len(self._tiles.pop(key, b""))
            self._tiles[key] = tile
            while self.bytes > self._most and len(self._tiles) > 1:
                _, dropped = self._tiles.popitem(last=False)
                self.bytes -= len(dropped)


class _OpenSlide:
    """A slide with the number of requests that use it; opened by the first of them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pyramid: TilePyramid | None = None
        self.lock = threading.Lock()
        self.users = 0
        self.used_at = 0.0

    def pyramid(self) -> TilePyramid:
        """Its tiles; only for who holds the lock."""
        if self._pyramid is None:
            self._pyramid = TilePyramid(open_slide(self._path))
        return self._pyramid

    def close(self) -> None:
        """Close the file; the next request would open it again."""
        with self.lock:
            if self._pyramid is not None:
                self._pyramid.slide.close()
                self._pyramid = None


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
        """The number of slides that are open."""
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
            yield slide.pyramid()

    def jpeg(self, path: Path, level: int, column: int, row: int) -> bytes:
        """A tile of a slide as JPEG."""
        key = (file_state(path), level, column, row)
        if (kept := self.tiles.get(key)) is not None:
            return kept
        with self.pyramid(path) as pyramid:
            pixels = pyramid.tile(level, column, row)
        encoded = jpeg_bytes(pixels)
        self.tiles.put(key, encoded)
        return encoded

    def close_idle(self) -> None:
        """Close slides that nobody has asked for in a while."""
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
        """Close all slides."""
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
            slide = self._slides.pop(state, None) or _OpenSlide(state[0])
            self._slides[state] = slide
            slide.users += 1
            dropped = self._surplus()
        for each in dropped:
            each.close()
        try:
            yield slide
        finally:
            with self._lock:
                slide.users -= 1
                slide.used_at = self._clock()
                self._sweep_later()

    def _surplus(self) -> list[_OpenSlide]:
        """The slides beyond the number that may be open, which nobody reads just now."""
        unused = [state for state, slide in self._slides.items() if not slide.users]
        surplus = max(0, len(self._slides) - self._most)
        return [self._slides.pop(state) for state in unused[:surplus]]

    def _sweep_later(self) -> None:
        """Look for idle slides again, as long as any is open."""
        if self._slides and self._sweeper is None:
            self._sweeper = threading.Timer(self._idle_seconds, self.close_idle)
            self._sweeper.daemon = True
            self._sweeper.start()


def file_state(path: Path) -> FileState:
    """What tells that a slide has changed; `InputError` where there is none."""
    check_image(path)
    found = path.stat()
    return path, found.st_mtime_ns, found.st_size


def jpeg_bytes(pixels: Pixels) -> bytes:
    """Pixels as a JPEG file."""
    stream = BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=QUALITY)
    return stream.getvalue()
