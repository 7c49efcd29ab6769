"""Pictures of grounding: where on a slide a phrase is borne out, and which patch does it best."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import SettingError
from histoeval.io.store import writing_to
from histoeval.trust.grounding.embedded_image import EmbeddedImage
from histoeval.trust.results import Spot

if TYPE_CHECKING:
    from PIL import Image

SIDE = 1024
"""Pixels along the longer side of a heatmap."""

CROP = 448
"""Pixels along the longer side of a crop, at most."""

OPACITY = 0.55
COLOURS = ((0.0, (49, 54, 149)), (0.5, (255, 245, 170)), (1.0, (165, 0, 38)))
"""From the lowest cosine of the image over the middle to the highest; told apart also by those who
see no red or green."""
FRAME = (0, 0, 0)


def heatmap(
    path: Path | str,
    bag: EmbeddedImage,
    phrase: NDArray[np.floating],
    out: Path,
    *,
    mpp: float | None = None,
) -> None:
    """A PNG of the slide in small, each patch coloured by its cosine with a phrase.

    Colours run from the lowest to the highest cosine of this image: they say where, not how much.
    Patches that the encoder does not know are not coloured; the best one has a frame.
    """
    from PIL import Image, ImageDraw

    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    if phrase.shape != bag.vectors.shape[1:]:
        raise SettingError(
            f"a phrase of {phrase.shape} does not fit patches of {bag.vectors.shape}"
        )
    with open_slide(path, mpp=mpp) as slide:
        picture = make_thumbnail(slide, SIDE).convert("RGB")
        across, down = picture.width / slide.width, picture.height / slide.height
    known = [number for number, reason in enumerate(bag.unknown) if reason is None]
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    cosines = bag.vectors[known].astype(np.float64) @ phrase.astype(np.float64)
    boxes = [_box(bag.spots[number], across, down) for number in known]
    for box, colour in zip(boxes, colours_of(cosines), strict=True):
        pen.rectangle(box, fill=(*colour, round(255 * OPACITY)))
    if boxes:
        pen.rectangle(boxes[int(np.argmax(np.round(cosines, 8)))], outline=(*FRAME, 255), width=2)
    _save(Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB"), out)


def support_picture(path: Path | str, spot: Spot, out: Path, *, mpp: float | None = None) -> None:
    """A PNG of the place on an image that bears a claim out."""
    from PIL import Image

    from histoeval.slides.open import open_slide

    with open_slide(path, mpp=mpp) as slide:
        pixels = slide.region(0, spot.x, spot.y, spot.width, spot.height)
    picture = Image.fromarray(pixels)
    if (shrink := max(picture.size) / CROP) > 1:
        size = max(1, round(picture.width / shrink)), max(1, round(picture.height / shrink))
        picture = picture.resize(size, Image.Resampling.BOX)
    _save(picture, out)


def colours_of(cosines: NDArray[np.float64]) -> list[tuple[int, int, int]]:
    """A colour for each, from the lowest to the highest of them; the middle where all are equal."""
    if not len(cosines):
        return []
    low, high = float(cosines.min()), float(cosines.max())
    shares = (cosines - low) / (high - low) if high > low else np.full(len(cosines), 0.5)
    places = [place for place, _ in COLOURS]
    planes = [
        np.rint(np.interp(np.round(shares, 6), places, [colour[n] for _, colour in COLOURS]))
        for n in range(3)
    ]
    return [(int(r), int(g), int(b)) for r, g, b in zip(*planes, strict=True)]


def _box(spot: Spot, across: float, down: float) -> tuple[int, int, int, int]:
    """A place on the small picture, at least one pixel large, without its far edges."""
    left, top = round(spot.x * across), round(spot.y * down)
    right = max(left, round((spot.x + spot.width) * across) - 1)
    bottom = max(top, round((spot.y + spot.height) * down) - 1)
    return left, top, right, bottom


def _save(picture: Image.Image, out: Path) -> None:
    """The whole file or none of it, the same bytes for the same pixels."""
    stream = io.BytesIO()
    picture.save(stream, "PNG", compress_level=6)
    with writing_to(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = out.with_name(f"{out.name}.part")
        draft.write_bytes(stream.getvalue())
        draft.replace(out)
