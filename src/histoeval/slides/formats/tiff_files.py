"""TIFF and the formats of scanners: by openslide where it knows them, else by tifffile.

Openslide reads SVS, NDPI, MRXS, SCN, BIF, Philips, pyramidal TIFF and more; tifffile what openslide
refuses: OME-TIFF, striped TIFF, unusual compressions.
"""

import logging
import math
import re
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from histoeval.errors import InputError, MissingDependency
from histoeval.slides import require
from histoeval.slides.slide import (
    WHITE,
    ContradictorySlide,
    Pixels,
    Resolution,
    Slide,
    TruncatedSlide,
    damaged,
    levels_of,
    on_white,
    region_blocks,
    stated_resolution,
    text_number,
    unreadable,
)

CACHE_BYTES = 64 << 20  # for decoded blocks
# of one decoded block; a slide that is a single block cannot be read in parts
MAX_BLOCK_BYTES = 256 << 20
# TIFF's code for JPEG, and its last bytes; decoders would pad a truncated block
JPEG, END_OF_JPEG = 7, b"\xff\xd9"
# microns per inch and per centimetre, by TIFF's code of the unit
UNITS = {2: 25_400.0, 3: 10_000.0}
# microns per pixel in the description of Aperio scanners
APERIO = re.compile(r"\|\s*MPP\s*=\s*([0-9.]+)")
TILE_OFFSETS = 324  # TIFF's code of the tag that says where the tiles are
# bytes of one value of a tag, by TIFF's code of its type
VALUE_BYTES = dict(
    zip(range(1, 19), (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8), strict=True)
)
# microns per unit of OME
LENGTHS = {"nm": 1e-3, "µm": 1.0, "um": 1.0, "mm": 1e3, "cm": 1e4, "m": 1e6}


def _openslide() -> Any:
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
    name: str | None = _openslide().OpenSlide.detect_format(str(path))
    return name


class OpenslideSlide(Slide):
    """A slide that openslide reads.

    After an error a handle of openslide is unusable. So each thread has its own and drops it when a
    region is damaged: one bad block costs one tile.
    """

    def __init__(self, path: Path) -> None:
        self._openslide = _openslide()
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
        x, y = (text_number(properties.get(f"openslide.mpp-{axis}")) for axis in "xy")
        power = properties.get("openslide.objective-power")
        notes = (f"objective {power}x, by the file",) if power else ()
        super().__init__(path, name, levels_of(sizes), stated_resolution(x, y), notes)

    def _handle(self) -> Any:
        if (handle := getattr(self._handles, "handle", None)) is None:
            handle = self._openslide.OpenSlide(str(self._path))
            handle.set_cache(self._cache)
            self._handles.handle = handle
        return handle

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        number = self._numbers[level]
        scale = self._downsamples[number]
        corner = (round(x * scale), round(y * scale))
        try:
            picture = self._handle().read_region(corner, number, (width, height))
        except self._openslide.OpenSlideError as error:
            del self._handles.handle
            raise damaged(self.path, *corner, error) from error
        return on_white(picture)

    def close(self) -> None:
        """Drop this thread's handle; those of other threads end with them."""
        self._handles = threading.local()


def _tifffile() -> Any:
    require("tifffile", "imagecodecs")
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())
    return tifffile


@contextmanager
def damage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise unreadable(path, error, "TIFF") from error


def _tiff_file(path: Path) -> Any:
    """The opened file, with at least one page."""
    with damage_errors(path):
        tiff = _tifffile().TiffFile(path)
        if len(tiff.pages) == 0:
            tiff.close()
            raise TruncatedSlide(
                f"{path} is a truncated TIFF without any page; copy or download it again"
            )
    return tiff


class TiffSlide(Slide):
    def __init__(self, path: Path) -> None:
        self._tiff = _tiff_file(path)
        self._lock = threading.Lock()
        try:
            with damage_errors(path):
                self._find_levels(path)
        except BaseException:
            self._tiff.close()
            raise

    def _find_levels(self, path: Path) -> None:
        """Find the levels of the largest image in the file; labels and the like are smaller."""
        series = max(self._tiff.series, key=lambda image: math.prod(image.shape))
        pages = [_pages_of(path, level) for level in series.levels]
        sizes = [(p[0].keyframe.imagewidth, p[0].keyframe.imagelength) for p in pages]
        levels = levels_of(sizes)
        self._pages = [pages[sizes.index((level.width, level.height))] for level in levels]
        frames = [planes[0].keyframe for planes in self._pages]
        grids = [(_Grid.of(frame), int(frame.samplesperpixel)) for frame in frames]
        block = max(grid.width * grid.height * samples for grid, samples in grids)
        if block > MAX_BLOCK_BYTES:
            raise InputError(
                f"{path} is stored in one block and too large to be read in parts; "
                "save it as a tiled, pyramidal TIFF"
            )
        self._decode = lru_cache(maxsize=max(4, CACHE_BYTES // block))(self._decoded)
        resolution = _resolution(self._tiff, self._pages[0][0])
        super().__init__(path, "OME-TIFF" if self._tiff.is_ome else "TIFF", levels, resolution)

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        pages = self._pages[level]
        planes = [self._read_page(level, n, x, y, width, height) for n in range(len(pages))]
        pixels = planes[0] if len(planes) == 1 else np.concatenate(planes, axis=2)
        if pixels.shape[2] == 1:
            return np.repeat(pixels, 3, axis=2)
        return np.ascontiguousarray(pixels[:, :, :3])

    def _read_page(self, level: int, page: int, x: int, y: int, width: int, height: int) -> Pixels:
        frame = self._pages[level][page].keyframe
        grid = _Grid.of(frame)
        pixels = np.full((height, width, frame.samplesperpixel), WHITE, np.uint8)
        blocks = region_blocks(x, y, width, height, (grid.width, grid.height))
        for column, row, within, target in blocks:
            for plane in range(grid.planes):
                number = (plane * grid.rows + row) * grid.columns + column
                if (block := self._decode(level, page, number)) is None:
                    continue
                if grid.planes == 1:
                    pixels[target] = block[within]
                else:
                    pixels[(*target, plane)] = block[(*within, 0)]
        return pixels

    def _decoded(self, level: int, page: int, index: int) -> Pixels | None:
        """One block; None if the file omits it on purpose."""
        page_tags = self._pages[level][page]
        frame = page_tags.keyframe
        offset, count = page_tags.dataoffsets[index], page_tags.databytecounts[index]
        if not count:
            return None
        with self._lock:
            self._tiff.filehandle.seek(offset)
            stored = self._tiff.filehandle.read(count)
        corner = _Grid.of(frame).corner(index)
        if frame.compression == JPEG and not stored.rstrip(b"\0").endswith(END_OF_JPEG):
            raise damaged(self.path, *corner, "its block is truncated")
        try:
            block, _, shape = frame.decode(stored, index, jpegtables=frame.jpegtables)
        except Exception as error:  # codecs raise errors of their own
            raise damaged(self.path, *corner, error) from error
        if block is None or block.dtype != np.uint8:
            raise damaged(self.path, *corner, "its block has no 8-bit pixels")
        pixels: Pixels = block.reshape(block.shape[-3:])[: shape[1], : shape[2]]
        return pixels

    def close(self) -> None:
        self._decode.cache_clear()
        self._tiff.close()


class _Grid(NamedTuple):
    width: int
    height: int
    columns: int
    rows: int
    planes: int

    @classmethod
    def of(cls, frame: Any) -> "_Grid":
        width, height = frame.imagewidth, min(frame.rowsperstrip, frame.imagelength)
        if frame.is_tiled:
            width, height = frame.tilewidth, frame.tilelength
        columns, rows = math.ceil(frame.imagewidth / width), math.ceil(frame.imagelength / height)
        planes = frame.samplesperpixel if frame.planarconfig == 2 else 1
        return cls(width, height, columns, rows, planes)

    @property
    def blocks(self) -> int:
        return self.columns * self.rows * self.planes

    def corner(self, index: int) -> tuple[int, int]:
        row = index // self.columns % self.rows
        return index % self.columns * self.width, row * self.height


def _pages_of(path: Path, level: Any) -> list[Any]:
    """The pages of one level: one with all colours, or one for each colour."""
    colours = {"YXS": 1, "SYX": 1, "CYX": 3, "YX": 1}.get(level.axes)
    pages = list(level.pages)
    if level.dtype != np.uint8 or colours != len(pages):
        raise InputError(
            f"{path} is not a bright-field image with 8 bits per colour: it has "
            f"{level.dtype} along the axes {level.axes}, {' x '.join(map(str, level.shape))}"
        )
    if any(len(page.dataoffsets) != _Grid.of(page.keyframe).blocks for page in pages):
        raise InputError(f"{path} is a damaged TIFF: offsets of blocks are missing")
    frame = pages[0].keyframe
    if frame.photometric not in {1, 2, 6} or frame.samplesperpixel not in {1, 3, 4}:
        raise InputError(
            f"{path} has an unsupported photometric interpretation: {frame.photometric!r}"
        )
    return pages


def _resolution(tiff: Any, page: Any) -> Resolution | None:
    """Read the resolution from OME's or the scanner's description, else from the page's tags."""
    if tiff.is_ome:  # physical pixel size of the first image; the default unit is the micron
        nodes = ElementTree.fromstring(tiff.ome_metadata).iter()
        if (pixels := next((node for node in nodes if node.tag.endswith("}Pixels")), None)) is None:
            return None
        sizes = [text_number(pixels.get(f"PhysicalSize{axis}")) for axis in "XY"]
        units = [LENGTHS.get(pixels.get(f"PhysicalSize{axis}Unit", "µm")) for axis in "XY"]
        x, y = (s * u if s and u else None for s, u in zip(sizes, units, strict=True))
        return stated_resolution(x, y)
    if tiff.is_svs and (aperio := APERIO.search(page.keyframe.description)):
        size = text_number(aperio[1])
        return stated_resolution(size, size)
    unit = UNITS.get(int(page.keyframe.resolutionunit))
    counts = page.keyframe.resolution
    x, y = (unit / count if unit and count > 0 else None for count in counts[:2])
    return stated_resolution(x, y)


def open_tiff(path: Path) -> Slide:
    """Open by openslide if it knows the format, else, or if openslide fails, by tifffile.

    Openslide reads OME-TIFF as plain TIFF, without its levels and its resolution.
    """
    try:
        kind = check_whole(path)
    except (TruncatedSlide, ContradictorySlide):
        raise
    except InputError:
        if recognises(path) is None:
            raise
        kind = ""  # openslide may still read what tifffile cannot
    if kind == "OME-TIFF" or recognises(path) is None:
        return TiffSlide(path)
    try:
        return OpenslideSlide(path)
    except InputError as refusal:
        try:
            return TiffSlide(path)
        except InputError as second:
            raise InputError(f"{refusal}; tifffile: {second}") from second


def check_whole(path: Path) -> str:
    """Return the kind of a TIFF; refuse it if it ends before its data do, as after a broken copy.

    So is one whose size and tiles contradict each other, which openslide reads for hours.
    """
    with _tiff_file(path) as tiff, damage_errors(path):
        for page in tiff.pages:
            if not page.is_tiled or TILE_OFFSETS not in page.tags:
                continue
            if (expected := _Grid.of(page).blocks) > (actual := page.tags[TILE_OFFSETS].count):
                raise ContradictorySlide(
                    f"{path} is a damaged TIFF: {page.imagewidth:,} x {page.imagelength:,} px need "
                    f"{expected:,} tiles, and it has {actual:,}"
                )
        end = max(_end_of(tiff, page) for page in tiff.pages)
        size = tiff.filehandle.size
        follows = 0  # the offset of the page after the last one that could be read
        if (offset := tiff.pages.next_page_offset) is not None:
            tiff.filehandle.seek(offset)
            stored = tiff.filehandle.read(tiff.tiff.offsetsize)
            follows = int.from_bytes(stored, "little" if tiff.byteorder == "<" else "big")
        kind = "OME-TIFF" if tiff.is_ome else "TIFF"
    if end > size or follows >= size:
        raise TruncatedSlide(
            f"{path} is truncated: it ends at byte {size:,}, but its data extend to byte "
            f"{max(end, follows):,}; copy or download it again"
        )
    return kind


def _end_of(tiff: Any, page: Any) -> int:
    """The end of the last block of a page, and of the last value that its tags point to."""
    blocks = zip(page.dataoffsets, page.databytecounts, strict=False)
    form, order = tiff.tiff, tiff.byteorder
    tiff.filehandle.seek(page.offset)
    (count,) = struct.unpack(form.tagnoformat, tiff.filehandle.read(form.tagnosize))
    entry = struct.Struct(f"{order}HHQQ" if form.tagsize == 20 else f"{order}HHII")
    end = max((offset + size for offset, size in blocks if size), default=0)
    end = max(end, tiff.filehandle.tell() + count * entry.size)
    for _, kind, number, where in entry.iter_unpack(tiff.filehandle.read(count * entry.size)):
        if (length := VALUE_BYTES.get(kind, 0) * number) > form.tagoffsetthreshold:
            end = max(end, where + length)
    return int(end)
