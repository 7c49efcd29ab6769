"""Slides of any size made of one painted square: a pyramidal TIFF whose blocks are stored once.

Every block of the grid points to one of a few that are stored, so that a slide of 100,000 x
60,000 px takes some megabytes on disk; readers decode each block as usual.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

SIDE = 4096
"""Of the painted square; a multiple of the block at the finest levels."""

BLOCK = 512
STEPS = (1, 4, 16, 64)
GLASS = (243, 242, 244)

SHORT, LONG, RATIONAL = 3, 4, 5

Pixels = NDArray[np.uint8]


def paint(side: int = SIDE, seed: int = 0) -> Pixels:
    """Islands of pink tissue with dark nuclei on glass."""
    draw = np.random.default_rng(seed)

    def cloud(cells: int) -> NDArray[np.float32]:
        noise = Image.fromarray(draw.integers(0, 256, (cells, cells), dtype=np.uint8))
        smooth = noise.resize((side, side), Image.Resampling.BICUBIC)
        return (np.asarray(smooth, np.float32) / np.float32(255)).astype(np.float32, copy=False)

    tissue = cloud(side // 512) > 0.35
    texture = 0.3 + 0.6 * cloud(side // 8)
    nuclei = cloud(side // 24) > 0.72
    planes = []
    for white, pink, blue in zip(GLASS, (0.2, 0.9, 0.35), (0.65, 0.7, 0.29), strict=True):
        density = np.where(nuclei, blue * 1.5, pink) * texture * tissue
        planes.append((white * np.exp(-density)).astype(np.uint8))
    return np.stack(planes, axis=2)


def write_slide(
    path: Path,
    width: int,
    height: int,
    mpp: float,
    square: Pixels,
    steps: Sequence[int] = STEPS,
) -> None:
    """A slide of this size, paved with the square."""
    with path.open("wb") as file:
        file.write(b"II*\0\0\0\0\0")
        link = 4
        for step in steps:
            blocks = _store(file, square, step)
            size = max(1, width // step), max(1, height // step)
            link = _write_level(file, link, size, blocks, mpp * step, int(step > 1))


def _store(file: io.BufferedWriter, square: Pixels, step: int) -> list[list[tuple[int, int]]]:
    """Blocks of the square at one level, by row and column: offset and length."""
    small = Image.fromarray(square).reduce(step) if step > 1 else Image.fromarray(square)
    pixels = np.asarray(small)
    again = max(1, BLOCK // pixels.shape[0])
    pixels = np.tile(pixels, (again, again, 1))
    return [
        [
            _store_block(file, pixels[y : y + BLOCK, x : x + BLOCK])
            for x in range(0, pixels.shape[1], BLOCK)
        ]
        for y in range(0, pixels.shape[0], BLOCK)
    ]


def _store_block(file: io.BufferedWriter, pixels: Pixels) -> tuple[int, int]:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG", quality=80)
    place = file.tell()
    file.write(stream.getvalue())
    return place, file.tell() - place


def _write_level(
    file: io.BufferedWriter,
    link: int,
    size: tuple[int, int],
    blocks: list[list[tuple[int, int]]],
    mpp: float,
    reduced: int,
) -> int:
    """Write one page of the TIFF; returns where to write the offset of the next."""
    rows, columns = -(-size[1] // BLOCK), -(-size[0] // BLOCK)
    grid = [
        blocks[row % len(blocks)][column % len(blocks)]
        for row in range(rows)
        for column in range(columns)
    ]
    per_centimetre = (round(1e4 / mpp * 1000), 1000)
    tags: dict[int, tuple[int, tuple[int, ...]]] = {
        254: (LONG, (reduced,)),
        256: (LONG, (size[0],)),
        257: (LONG, (size[1],)),
        258: (SHORT, (8, 8, 8)),
        259: (SHORT, (7,)),
        262: (SHORT, (6,)),
        277: (SHORT, (3,)),
        282: (RATIONAL, per_centimetre),
        283: (RATIONAL, per_centimetre),
        284: (SHORT, (1,)),
        296: (SHORT, (3,)),
        322: (LONG, (BLOCK,)),
        323: (LONG, (BLOCK,)),
        324: (LONG, tuple(place for place, _ in grid)),
        325: (LONG, tuple(length for _, length in grid)),
        530: (SHORT, (2, 2)),
    }
    entries = [_entry(file, tag, *value) for tag, value in tags.items()]
    place = file.tell() + file.tell() % 2
    file.seek(place)
    file.write(struct.pack("<H", len(entries)) + b"".join(entries) + b"\0\0\0\0")
    end = file.tell()
    file.seek(link)
    file.write(struct.pack("<I", place))
    file.seek(end)
    return end - 4


def _entry(file: io.BufferedWriter, tag: int, kind: int, values: tuple[int, ...]) -> bytes:
    """One tag; values that do not fit into it are written to the file first."""
    packed = struct.pack(f"<{len(values)}{'H' if kind == SHORT else 'I'}", *values)
    count = len(values) // 2 if kind == RATIONAL else len(values)
    if len(packed) > 4:
        place = file.tell()
        file.write(packed)
        packed = struct.pack("<I", place)
    return struct.pack("<HHI", tag, kind, count) + packed.ljust(4, b"\0")
