"""DeepZoom: a folder of small images by level, column and row, with a .dzi file beside it."""

import math
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image

from histoeval.errors import InputError
from histoeval.io.images import check_image
from histoeval.slides.slide import Pixels, Slide, damaged, levels_of, region_blocks

MAX_XML_BYTES = 100_000
"""Real .dzi files have a few hundred."""

CACHED_BLOCKS = 64
"""Decoded blocks that are cached."""


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
        found = {
            (math.ceil(width / 2**step), math.ceil(height / 2**step)): top - step
            for step in range(top + 1)
            if (self._folder / str(top - step)).is_dir()
        }
        if (width, height) not in found:
            raise InputError(f"{path} has no blocks of its finest level, {top}")
        levels = levels_of(list(found))
        self._names = [found[level.width, level.height] for level in levels]
        super().__init__(path, "DeepZoom", levels, None)
        self._decode = lru_cache(maxsize=CACHED_BLOCKS)(self._decoded)

    def _read(self, level: int, x: int, y: int, width: int, height: int) -> Pixels:
        pixels = np.empty((height, width, 3), np.uint8)
        for part in region_blocks(x, y, width, height, (self._block, self._block)):
            block = self._decode(level, part.column, part.row)
            pixels[part.target] = block[part.within]
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
