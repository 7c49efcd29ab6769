"""Painted slides: glass, tissue of known stains, fat, ink and bubbles, and files of them."""

import math
import struct
from pathlib import Path

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

Pixels = NDArray[np.uint8]

HAEMATOXYLIN = np.array([0.65, 0.70, 0.29]) / np.linalg.norm([0.65, 0.70, 0.29])
EOSIN = np.array([0.20, 0.90, 0.35]) / np.linalg.norm([0.20, 0.90, 0.35])


def glass(height: int, width: int, colour: tuple[int, int, int] = (243, 242, 244)) -> Pixels:
    noise = np.random.default_rng(1).normal(0, 1.2, (height, width, 3))
    return np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)


def stained(
    height: int,
    width: int,
    *,
    strength: float = 1.0,
    seed: int = 0,
    stains: tuple[NDArray[np.float64], NDArray[np.float64]] = (HAEMATOXYLIN, EOSIN),
    white: float = 255.0,
) -> Pixels:
    """Tissue all over: eosin everywhere, haematoxylin in patches of the size of nuclei."""
    draw = np.random.default_rng(seed)
    coarse = draw.random((height // 6 + 2, width // 6 + 2))
    nuclei = np.kron(coarse, np.ones((6, 6)))[:height, :width] > 0.75
    pink = strength * draw.uniform(0.3, 0.9, (height, width)) * (1 - 0.97 * nuclei)
    blue = strength * draw.uniform(0.6, 1.6, (height, width)) * np.where(nuclei, 1.0, 0.01)
    density = blue[:, :, None] * stains[0] + pink[:, :, None] * stains[1]
    return np.clip(np.rint(white * np.exp(-density)), 0, 255).astype(np.uint8)


def put(page: Pixels, part: Pixels, x: int, y: int) -> None:
    page[y : y + part.shape[0], x : x + part.shape[1]] = part


def fat(height: int, width: int, cell: int = 10, wall: int = 1) -> Pixels:
    """Fat cells: glass with thin pink walls around round holes."""
    picture = Image.fromarray(glass(height, width))
    pen = ImageDraw.Draw(picture)
    for row, top in enumerate(range(-cell, height, cell)):
        for left in range(-cell + (row % 2) * cell // 2, width, cell):
            pen.ellipse((left, top, left + cell, top + cell), outline=(224, 176, 204), width=wall)
    return np.array(picture)


def draw_ink(page: Pixels, colour: tuple[int, int, int], places: list[int], width: int) -> Pixels:
    """A stroke of a pen through places x, y, x, y; out of focus, as ink on a cover slip is."""
    picture = Image.fromarray(page)
    layer = Image.new("L", picture.size, 0)
    ImageDraw.Draw(layer).line(places, fill=235, width=width)
    layer = layer.filter(ImageFilter.GaussianBlur(1.5))
    return np.array(Image.composite(Image.new("RGB", picture.size, colour), picture, layer))


def draw_bubble(page: Pixels, x: int, y: int, radius: int) -> Pixels:
    picture = Image.fromarray(page)
    box = (x - radius, y - radius, x + radius, y + radius)
    ImageDraw.Draw(picture).ellipse(box, outline=(120, 121, 120), width=4)
    return np.array(picture.filter(ImageFilter.GaussianBlur(1)))


def write_pyramid(path: Path, pixels: Pixels, mpp: float | None = 0.5, levels: int = 2) -> Path:
    """A tiled TIFF with levels of a half, a quarter and so on, as openslide reads it."""
    unit = {} if mpp is None else {"resolution": (1e4 / mpp,) * 2, "resolutionunit": "CENTIMETER"}
    with tifffile.TiffWriter(path) as tiff:
        for level in range(levels):
            part = pixels if not level else np.asarray(Image.fromarray(pixels).reduce(2**level))
            tiff.write(
                part,
                tile=(256, 256),
                photometric="rgb",
                compression="deflate",
                compressionargs={"level": 1},
                subfiletype=1 if level else 0,
                metadata=None,
                **unit,
            )
    return path


def block(path: Path, level: int, number: int) -> tuple[int, int]:
    """Where in a file a block is stored, and how long it is."""
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[level]
        return page.dataoffsets[number], page.databytecounts[number]


def spoil(path: Path, level: int, number: int) -> None:
    offset, count = block(path, level, number)
    with path.open("rb+") as file:
        file.seek(offset)
        file.write(b"\xa5" * count)


TAGS = {"ImageWidth": 256, "ImageLength": 257, "TileWidth": 322, "TileLength": 323}


def forge(path: Path, **values: int) -> Path:
    with tifffile.TiffFile(path) as tiff:
        places = {name: tiff.pages[0].tags[TAGS[name]] for name in values}
        found = {name: (tag.offset, tag.valueoffset) for name, tag in places.items()}
    with path.open("rb+") as file:
        for name, (entry, place) in found.items():
            file.seek(entry + 2)
            file.write(struct.pack("<H", 4))
            file.seek(place)
            file.write(struct.pack("<I", values[name]))
    return path


def write_deep_zoom(path: Path, pixels: Pixels, side: int = 254, overlap: int = 1) -> Path:
    """A DeepZoom slide by its own rules: levels halve, and blocks overlap on all sides."""
    height, width = pixels.shape[:2]
    path.write_text(
        f'<?xml version="1.0"?><Image TileSize="{side}" Overlap="{overlap}" Format="png" '
        f'xmlns="http://schemas.microsoft.com/deepzoom/2008"><Size Width="{width}" '
        f'Height="{height}"/></Image>'
    )
    top = math.ceil(math.log2(max(width, height)))
    picture = Image.fromarray(pixels)
    for level in range(top, -1, -1):
        folder = path.with_name(f"{path.stem}_files") / str(level)
        folder.mkdir(parents=True)
        for row in range(math.ceil(picture.height / side)):
            for column in range(math.ceil(picture.width / side)):
                box = (
                    max(0, column * side - overlap),
                    max(0, row * side - overlap),
                    min(picture.width, (column + 1) * side + overlap),
                    min(picture.height, (row + 1) * side + overlap),
                )
                picture.crop(box).save(folder / f"{column}_{row}.png", compress_level=1)
        size = math.ceil(picture.width / 2), math.ceil(picture.height / 2)
        picture = picture.resize(size, Image.Resampling.BOX)
    return path
