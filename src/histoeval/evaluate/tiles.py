"""Tiles as they lie on the disk: an index of JSON lines and tar files of JPEG pictures."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from histoeval.errors import InputError, MissingDependency
from histoeval.evaluate.tile_labels import LabelledTile

INDEX = "index.jsonl"
SIDE = 224
"""Pixels of a side of a tile."""

Pixels = npt.NDArray[np.uint8]


def read_pixels(folder: Path, tiles: Sequence[LabelledTile]) -> Pixels:
    """The pictures of these tiles, in their order: rows, columns, and red, green, blue."""
    wanted = {tile.key: place for place, tile in enumerate(tiles)}
    pixels = np.zeros((len(tiles), SIDE, SIDE, 3), np.uint8)
    for key, content in _members(folder):
        if key in wanted:
            pixels[wanted.pop(key)] = _picture(content, key)
    if wanted:
        raise InputError(f"{folder} has no picture for {len(wanted)} tiles, as {min(wanted)}")
    return pixels


def _members(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.glob("*.tar")):
        try:
            with tarfile.open(path) as shard:
                for member in shard:
                    file = shard.extractfile(member)
                    if file is not None:
                        yield Path(member.name).stem, file.read()
        except (OSError, tarfile.TarError) as error:
            raise InputError(f"{path} cannot be read: {error}") from error


def _picture(content: bytes, key: str) -> Pixels:
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependency(
            "Pillow is not installed: tiles need it; run: pip install pillow"
        ) from error
    try:
        with Image.open(io.BytesIO(content)) as picture:
            pixels = np.asarray(picture.convert("RGB"), np.uint8)
    except OSError as error:
        raise InputError(f"the tile {key} is no picture: {error}") from error
    if pixels.shape != (SIDE, SIDE, 3):
        raise InputError(f"the tile {key} has {pixels.shape[:2]} pixels and not {SIDE} x {SIDE}")
    return pixels
