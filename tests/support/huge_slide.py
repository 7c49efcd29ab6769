"""A whole slide of any size that takes a few megabytes: all tiles of a level are the same few."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile

from tests.support.painted_slides import Pixels, glass, stained

TILE = 256
_OFFSETS, _COUNTS = 324, 325


def write_huge_pyramid(path: Path, width: int, height: int, mpp: float = 0.25) -> Path:
    """A tiled JPEG pyramid with levels of a half down to one tile, as a scanner writes it."""
    unit = {"resolution": (1e4 / mpp,) * 2, "resolutionunit": "CENTIMETER"}
    kinds = [stained(TILE, TILE, seed=1), stained(TILE, TILE, seed=2), glass(TILE, TILE)]
    with tifffile.TiffWriter(path, bigtiff=True) as tiff:
        level = 0
        while level == 0 or max(width, height) >> (level - 1) > TILE:
            shape = (max(1, height >> level), max(1, width >> level), 3)
            tiff.write(
                _first_tiles(kinds, -(-shape[0] // TILE) * -(-shape[1] // TILE)),
                shape=shape,
                dtype=np.uint8,
                tile=(TILE, TILE),
                photometric="rgb",
                compression="jpeg",
                subfiletype=1 if level else 0,
                metadata=None,
                **unit,
            )
            level += 1
    _repeat_tiles(path, len(kinds))
    return path


def _first_tiles(kinds: list[Pixels], count: int) -> Iterator[Pixels | None]:
    for number in range(count):
        yield kinds[number] if number < len(kinds) else None


def _repeat_tiles(path: Path, kinds: int) -> None:
    """Let every tile that was not written be one of those that were."""
    with tifffile.TiffFile(path) as tiff:
        levels = [(page.tags[_OFFSETS], page.tags[_COUNTS]) for page in tiff.pages]
        places = [(tag.valueoffset, tag.dtype.name, tag.value) for pair in levels for tag in pair]
    form = {"LONG8": "Q", "LONG": "I", "SHORT": "H"}
    with path.open("rb+") as file:
        for offset, kind, values in places:
            if len(values) > kinds:
                again = [values[(number * 7919) % kinds] for number in range(len(values))]
                file.seek(offset)
                file.write(struct.pack(f"<{len(again)}{form[kind]}", *again))
