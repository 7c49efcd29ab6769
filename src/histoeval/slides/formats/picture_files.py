"""Plain images: PNG, JPEG and the like, held in memory."""

import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from histoeval.errors import InputError
from histoeval.slides.slide import Pixels, Slide, levels_of, on_white, unreadable

MAX_PIXELS = 150_000_000
"""Plain images are decoded whole; larger ones must be tiled slides."""

STRIP = 256
"""Rows that are converted at once."""


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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        try:
            with Image.open(path) as picture:
                _refuse_size(path, *picture.size)
                if picture.mode.startswith(("I", "F")):
                    raise InputError(
                        f"{path} has pixels of mode {picture.mode}; save it with 8 bits per colour"
                    )
                ImageOps.exif_transpose(picture, in_place=True)
                pixels = np.empty((picture.height, picture.width, 3), np.uint8)
                for top in range(0, picture.height, STRIP):  # whole copies would take gigabytes
                    below = min(top + STRIP, picture.height)
                    pixels[top:below] = _opaque(picture.crop((0, top, picture.width, below)))
                return pixels
        except Image.DecompressionBombError as error:
            raise _too_large(path) from error
        except Exception as error:  # decoders raise anything on damaged files
            raise unreadable(path, error, "picture") from error


def _opaque(part: Image.Image) -> Pixels:
    is_opaque = "A" not in part.mode and "transparency" not in part.info
    return on_white(part if is_opaque else part.convert("RGBA"))


def _refuse_size(path: Path, width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise _too_large(path)


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path} has more than {MAX_PIXELS // 1_000_000} million pixels, too many for an "
        "untiled image; save it as a tiled, pyramidal TIFF"
    )
