"""Plain images: PNG, JPEG and the like, held in memory."""

import math
import warnings
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image, ImageOps

from histoeval.errors import InputError
from histoeval.io.images import check_image
from histoeval.slides.slide import (
    Pixels,
    Slide,
    damaged,
    levels_of,
    on_white,
    region_blocks,
    unreadable,
)

MAX_PIXELS = 150_000_000  # plain images are decoded whole; larger ones must be tiled slides
STRIP = 256  # rows that are converted at once


class PlainPicture(Slide):
    """An image without levels and without microns per pixel."""

    def __init__(self, path: Path) -> None:
        self._pixels = _decoded(path)
        height, width = self._pixels.shape[:2]
        super().__init__(path, "picture", levels_of([(width, height)]), None)

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:  # noqa: ARG002
        return self._pixels[y : y + height, x : x + width]


def _decoded(path: Path) -> Pixels:
    """All pixels, upright, in red, green and blue; transparency becomes white."""
    too_large = InputError(
        f"{path} has more than {MAX_PIXELS // 1_000_000} million pixels, too many for an "
        "untiled image; save it as a tiled, pyramidal TIFF"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as picture:
                if math.prod(picture.size) > MAX_PIXELS:
                    raise too_large
                if picture.mode.startswith(("I", "F")):
                    raise InputError(
                        f"{path} has pixels of mode {picture.mode}; save it with 8 bits per colour"
                    )
                ImageOps.exif_transpose(picture, in_place=True)
                pixels = np.empty((picture.height, picture.width, 3), np.uint8)
                for top in range(0, picture.height, STRIP):  # whole copies would take gigabytes
                    below = min(top + STRIP, picture.height)
                    part = picture.crop((0, top, picture.width, below))
                    is_opaque = "A" not in part.mode and "transparency" not in part.info
                    pixels[top:below] = on_white(part if is_opaque else part.convert("RGBA"))
                return pixels
        except Image.DecompressionBombError as error:
            raise too_large from error
        except Exception as error:  # decoders raise anything on damaged files
            raise unreadable(path, error, "picture") from error


MAX_XML_BYTES = 100_000  # real .dzi files have a few hundred
CACHED_BLOCKS = 64  # decoded blocks that are cached


class DeepZoomSlide(Slide):
    """A DeepZoom pyramid; the format has no microns per pixel."""

    def __init__(self, path: Path) -> None:
        root = _parsed(path)
        try:
            size = next(child for child in root if child.tag.endswith("Size"))
            width, height = int(size.attrib["Width"]), int(size.attrib["Height"])
            self._block, self._overlap = int(root.attrib["TileSize"]), int(root.attrib["Overlap"])
            self._ending = root.attrib["Format"]
        except (StopIteration, KeyError, ValueError) as error:
            raise InputError(f"{path} does not state its size and blocks: {error}") from error
        if min(width, height, self._block) < 1 or self._overlap < 0:
            raise InputError(f"{path} states impossible sizes: {width} x {height}")
        self._folder = path.with_name(f"{path.stem}_files")
        if not self._folder.is_dir():
            raise InputError(f"{path} has no folder {self._folder.name} with its blocks beside it")
        top = math.ceil(math.log2(max(width, height))) if max(width, height) > 1 else 0
        names = {
            (math.ceil(width / 2**step), math.ceil(height / 2**step)): top - step
            for step in range(top + 1)
            if (self._folder / str(top - step)).is_dir()
        }
        if (width, height) not in names:
            raise InputError(f"{path} has no blocks of its finest level, {top}")
        levels = levels_of(list(names))
        self._names = [names[level.width, level.height] for level in levels]
        super().__init__(path, "DeepZoom", levels, None)
        self._decode = lru_cache(maxsize=CACHED_BLOCKS)(self._decoded)

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        pixels = np.empty((height, width, 3), np.uint8)
        blocks = region_blocks(x, y, width, height, (self._block, self._block))
        for column, row, within, target in blocks:
            pixels[target] = self._decode(level, column, row)[within]
        return pixels

    def _decoded(self, level: int, column: int, row: int) -> Pixels:
        """One block without its overlap with its neighbours."""
        file = self._folder / str(self._names[level]) / f"{column}_{row}.{self._ending}"
        left, top = column * self._block, row * self._block
        try:
            check_image(file)
            with Image.open(file) as picture:
                pixels = np.asarray(picture.convert("RGB"))
        except Exception as error:  # decoders raise anything on damaged files
            raise damaged(self.path, left, top, error) from error
        pixels = pixels[self._overlap if row else 0 :, self._overlap if column else 0 :]
        size = self.levels[level]
        shape = min(self._block, size.height - top), min(self._block, size.width - left)
        if pixels.shape[0] < shape[0] or pixels.shape[1] < shape[1]:
            raise damaged(self.path, left, top, f"{file.name} is too small")
        return pixels[: shape[0], : shape[1]]


def _parsed(path: Path) -> ElementTree.Element:
    if path.stat().st_size > MAX_XML_BYTES:
        raise InputError(f"{path} is too long for a .dzi file")
    try:
        root = ElementTree.fromstring(path.read_bytes())
    except ElementTree.ParseError as error:
        raise InputError(f"{path} is not the XML of a DeepZoom slide: {error}") from error
    if not root.tag.endswith("Image"):
        raise InputError(f"{path} is not a DeepZoom slide: its XML root is {root.tag}")
    return root
