"""Pictures of the evidence for a report: its image, and for each claim where it is supported."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from histoeval.errors import Problem, SettingError
from histoeval.io.writing import make_folder, whole_file, writing_to
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.results import Spot, Support
from histoeval.run.trust.reports import Instruments, attempt
from histoeval.run.trust.rows import EVIDENCE, TrustRow, Verdict

if TYPE_CHECKING:
    from PIL import Image

    from histoeval.slides.tissue import Tissue

MAX_CLAIMS = 12  # claims of a report that get pictures, in the order of its text
MIN_PATCHES = 5  # with fewer patches a heatmap shows nothing

# pixels along the longer side of the image, of a heatmap, and of the best patch (at most)
THUMBNAIL, HEATMAP, CROP = 320, 1024, 448
OPACITY = 0.55
# from the lowest cosine of the image to the highest; legible without red-green vision
COLOURS = ((0.0, (49, 54, 149)), (0.5, (255, 245, 170)), (1.0, (165, 0, 38)))
# around the best patch and the one with least support
FRAME, FRAME_AGAINST = (0, 0, 0), (255, 255, 255)
TISSUE, INK = (0, 160, 60), (255, 140, 0)


def with_pictures(verdict: Verdict, folder: Path, tools: Instruments) -> TrustRow:
    """Draw pictures of the evidence, and list them, or why one could not be drawn, in the row."""
    row = verdict.row
    if verdict.image is None or verdict.embedded is None:
        return row
    pictures = list(_pictures(verdict, verdict.image, verdict.embedded, folder, tools))
    return row.model_copy(update={"evidence": {**row.evidence, "pictures": pictures}})


def _pictures(
    verdict: Verdict, image: Path, bag: EmbeddedImage, folder: Path, tools: Instruments
) -> Iterator[dict[str, Any]]:
    stem, mpp = f"{verdict.row.row:05}", tools.tiling.mpp

    def drawn(name: str, draw: Callable[[Path], None]) -> dict[str, Any]:
        outcome = attempt(lambda: draw(folder / name))
        if isinstance(outcome, Problem):
            return {"problem": outcome.message}
        return {"file": f"{EVIDENCE}/{name}"}

    small = f"{stem}_image.png"
    thumbnail = drawn(small, lambda out: _save(_thumbnail(image, THUMBNAIL, mpp)[0], out))
    yield {"shows": "image", **thumbnail}
    grounding = verdict.grounding
    supports: tuple[Support, ...] = () if grounding is None else grounding.supports
    spots = [(support, support.spot) for support in supports if support.spot is not None]
    has_panel = grounding is not None and bool(grounding.members)
    by = {"encoder": tools.encoders[0].identity.partition("@")[0]} if has_panel else {}
    for number, (support, spot) in enumerate(spots[:MAX_CLAIMS], start=1):
        phrase = support.claim.phrase
        named = {"claim": phrase, "start": support.claim.span.start}
        for shows, tile in (("spot", spot), ("against", support.against)):
            if tile is not None and (shows == "spot" or tile != spot):
                crop = f"{stem}_{number:02}_{shows}.png"
                entry = drawn(crop, partial(support_picture, image, tile, mpp=mpp))
                yield {"shows": shows, **named, **entry}
        if len(bag.spots) >= MIN_PATCHES:
            (vector,) = tools.encoders[0].texts([phrase])
            heat = f"{stem}_{number:02}_heatmap.png"
            entry = drawn(heat, partial(heatmap, image, bag, vector, mpp=mpp))
            yield {"shows": "heatmap", **named, **by, **entry}


def heatmap(
    path: Path | str,
    bag: EmbeddedImage,
    phrase: NDArray[np.floating],
    out: Path,
    *,
    mpp: float | None = None,
) -> None:
    """Write a PNG of the slide; colours run from the lowest to the highest cosine of this image."""
    from PIL import Image, ImageDraw

    if phrase.shape != bag.vectors.shape[1:]:
        raise SettingError(
            f"a phrase of {phrase.shape} does not fit patches of {bag.vectors.shape}"
        )
    picture, across, down = _thumbnail(path, HEATMAP, mpp)
    known_patches = [number for number, reason in enumerate(bag.unknown) if reason is None]
    layer = Image.new("RGBA", picture.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    cosines = bag.vectors[known_patches].astype(np.float64) @ phrase.astype(np.float64)
    boxes = [_box(bag.spots[number], across, down) for number in known_patches]
    for box, colour in zip(boxes, colours_of(cosines), strict=True):
        pen.rectangle(box, fill=(*colour, round(255 * OPACITY)))
    if boxes:
        ranked = np.round(cosines, 8)
        for index, colour in ((ranked.argmin(), FRAME_AGAINST), (ranked.argmax(), FRAME)):
            pen.rectangle(boxes[int(index)], outline=(*colour, 255), width=2)
    _save(Image.alpha_composite(picture.convert("RGBA"), layer).convert("RGB"), out)


def support_picture(path: Path | str, spot: Spot, out: Path, *, mpp: float | None = None) -> None:
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
    if not len(cosines):
        return []
    low, high = float(cosines.min()), float(cosines.max())
    shares = (cosines - low) / (high - low) if high > low else np.full(len(cosines), 0.5)
    places = [position for position, _ in COLOURS]
    planes = [
        np.rint(np.interp(np.round(shares, 6), places, [colour[n] for _, colour in COLOURS]))
        for n in range(3)
    ]
    return [(int(r), int(g), int(b)) for r, g, b in zip(*planes, strict=True)]


def outlined(picture: Image.Image, tissue: Tissue) -> Image.Image:
    from PIL import Image, ImageFilter

    drawn = picture.copy()
    for mask, colour in ((tissue.mask, TISSUE), (tissue.ink, INK)):
        whole = Image.fromarray(mask.astype(np.uint8) * 255)
        whole = whole.resize(picture.size, Image.Resampling.NEAREST)
        inner = np.asarray(whole.filter(ImageFilter.MinFilter(5)))
        drawn.paste(colour, mask=Image.fromarray(np.asarray(whole) - inner))
    return drawn


def _thumbnail(path: Path | str, side: int, mpp: float | None) -> tuple[Image.Image, float, float]:
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    with open_slide(path, mpp=mpp) as slide:
        picture = make_thumbnail(slide, side).convert("RGB")
        return picture, picture.width / slide.width, picture.height / slide.height


def _box(spot: Spot, across: float, down: float) -> tuple[int, int, int, int]:
    """Return the box of a patch on the thumbnail, at least one pixel large, without far edges."""
    left, top = round(spot.x * across), round(spot.y * down)
    right = max(left, round((spot.x + spot.width) * across) - 1)
    bottom = max(top, round((spot.y + spot.height) * down) - 1)
    return left, top, right, bottom


def _save(picture: Image.Image, out: Path) -> None:
    """Write a PNG atomically, the same bytes for the same pixels."""
    with writing_to(out.parent):
        make_folder(out.parent)
        with whole_file(out) as file:
            picture.save(file, "PNG", compress_level=6)
