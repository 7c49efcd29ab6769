"""Plain images: PNG, JPEG and the like, held in memory."""

import warnings
from pathlib import Path

from PIL import Image, ImageOps

from histoeval.errors import InputError
from histoeval.slides.slide import Pixels, Slide, levels_of, on_white

MAX_PIXELS = 150_000_000
"""Plain images are decoded whole; larger ones must be tiled slides."""


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
                upright = ImageOps.exif_transpose(picture)
                opaque = "A" not in upright.mode and "transparency" not in upright.info
                return on_white(upright if opaque else upright.convert("RGBA"))
        except Image.DecompressionBombError as error:
            raise _too_large(path) from error
        except InputError:
            raise
        except Exception as error:  # decoders raise anything on damaged files
            raise InputError(f"{path} is damaged and cannot be decoded: {error}") from error


def _refuse_size(path: Path, width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise _too_large(path)


def _too_large(path: Path) -> InputError:
    return InputError(
        f"{path} has more than {MAX_PIXELS // 1_000_000} million pixels, too many for an "
        "untiled image; save it as a tiled, pyramidal TIFF"
    )
