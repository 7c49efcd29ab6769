"""The pictures of an image that a model is shown: all of it, tiles of a slide, or a thumbnail.

An image of up to 2048 px is one picture (patch level); of a larger one a seeded sample of tiles is
taken, spread over its tissue (slide level). The same views can be re-stained.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from histoeval.errors import InputError, MissingDependency, Problem
from histoeval.pathgls.grounding.embedded_image import PICTURE, cutting

if TYPE_CHECKING:
    from histoeval.slides.slide import Pixels, Slide
    from histoeval.slides.stain import Stains, White
    from histoeval.slides.tiles import TileRequest

# How a slide is shown: by tiles, or as one thumbnail, as HARE's authors did
Look = Literal["tiles", "overview"]

Form = Literal["jpeg", "png"]

LONGEST = 1024  # pixels along the longer side that a picture is shown with

QUALITY = 95

# How far from 1 a stain is multiplied at least; a factor near 1 would attack nothing
LEAST_CHANGE = 0.1


class View(NamedTuple):
    name: str
    pixels: Pixels


class ImageViews(NamedTuple):
    shown: tuple[View, ...]
    white: White
    notes: tuple[str, ...] = ()


def views_of(
    path: Path | str,
    *,
    tiles: int = 15,
    seed: int = 0,
    look: Look = "tiles",
    mpp: float | None = None,
) -> ImageViews | Problem:
    path = Path(path)
    try:
        from histoeval.slides.open import open_slide
        from histoeval.slides.tiles import TileRequest

        with open_slide(path, mpp=mpp) as slide:
            return _views(slide, TileRequest(sample=tiles, seed=seed), look)
    except MissingDependency as error:
        return Problem("missing_dependency", str(error))
    except InputError as error:
        return Problem("image_unusable", str(error).replace(str(path), path.name))
    except MemoryError:
        return Problem("image_unusable", f"{path.name} needs more memory than there is")


def restained(views: ImageViews, seed: int, key: str) -> ImageViews | Problem:
    """The views as another laboratory might have stained the slide, by their common stains."""
    from histoeval.slides.stain import Factors, draw_factors, restain

    factors = Factors(*map(_strong, draw_factors(seed, key)))
    common = _stains([view.pixels for view in views.shown], views.white)
    restained_views: list[View] = []
    skipped: dict[str, str] = {}
    for view in views.shown:
        stains = _stains([view.pixels], views.white) if isinstance(common, str) else common
        if isinstance(stains, str):
            skipped[view.name] = stains
        else:
            restained_views.append(View(view.name, restain(view.pixels, stains, factors)))
    if not restained_views:
        reason = next(iter(skipped.values()))
        return Problem("no_stain", f"the stain cannot be perturbed: {reason}")
    notes = [f"stains multiplied by {factors.first:.3f} and {factors.second:.3f}"]
    notes += [f"{name} could not be restained and was skipped: {skipped[name]}" for name in skipped]
    return ImageViews(tuple(restained_views), views.white, tuple(notes))


def encoded(pixels: Pixels, form: Form) -> bytes:
    from PIL import Image

    file = BytesIO()
    picture = Image.fromarray(pixels)
    if form == "png":
        picture.save(file, "PNG")
    else:
        picture.save(file, "JPEG", quality=QUALITY, subsampling=0)
    return file.getvalue()


def _views(slide: Slide, request: TileRequest, look: Look) -> ImageViews | Problem:
    import numpy as np

    from histoeval.slides.overview import make_thumbnail
    from histoeval.slides.tissue import BLACK, white_of

    if max(slide.width, slide.height) <= PICTURE:
        picture = slide.region(0, 0, 0, slide.width, slide.height)
    elif look == "overview":
        picture = np.asarray(make_thumbnail(slide, LONGEST))
    else:
        return _tiles(slide, request)
    if picture.max() < BLACK:
        return Problem("image_unusable", f"{slide.path.name}: all of it is black")
    if (picture == picture[0, 0]).all():
        return Problem("image_unusable", f"{slide.path.name}: all of it has one colour")
    pixels, notes = _fitting(picture)
    return ImageViews((View("whole", pixels),), white_of(pixels), (*slide.notes, *notes))


def _tiles(slide: Slide, request: TileRequest) -> ImageViews | Problem:
    from histoeval.slides.tiles import plan_tiles, read_tiles
    from histoeval.slides.tissue import find_tissue

    cut_by = cutting(slide, request)
    if isinstance(cut_by, Problem):
        return cut_by
    request, notes = cut_by
    notes = (*slide.notes, *notes)
    tissue = find_tissue(slide)
    shown = []
    for tile in read_tiles(slide, plan := plan_tiles(slide, tissue, request)):
        if tile.pixels is None:
            reason = tile.problem.message if tile.problem else "no pixels"
            notes += (f"tile {tile.place.id} was skipped: {reason}",)
        else:
            shown.append(View(tile.place.id, tile.pixels))
    if not shown:
        return Problem("image_unusable", f"{slide.path.name}: no tile can be read; {notes[-1]}")
    sample = (
        f"{len(plan.places)} of {plan.with_tissue} tiles with tissue were shown, "
        f"spread by seed {request.seed}",
    )
    return ImageViews(tuple(shown), tissue.white, (*notes, *sample, *plan.notes))


def _fitting(pixels: Pixels) -> tuple[Pixels, tuple[str, ...]]:
    import numpy as np
    from PIL import Image

    height, width = pixels.shape[:2]
    if max(height, width) <= LONGEST:
        return pixels, ()
    scale = LONGEST / max(height, width)
    size = max(1, round(width * scale)), max(1, round(height * scale))
    small = Image.fromarray(pixels).resize(size, Image.Resampling.LANCZOS)
    return np.asarray(small), (f"shown with {size[0]} x {size[1]} px",)


def _stains(pictures: list[Pixels], white: White) -> Stains | str:
    from histoeval.slides.stain import find_stains, pooled

    try:
        step = 1 if len(pictures) == 1 else 16
        return find_stains(pooled(pictures, step).reshape(-1, 1, 3), white=white)
    except InputError as error:
        return str(error)


def _strong(factor: float) -> float:
    """A factor between 0.7 and 1.3 moved away from 1, evenly, within the same bounds."""
    from histoeval.slides.stain import FACTORS

    low, high = FACTORS
    if factor < 1:
        return low + (factor - low) * (1 - LEAST_CHANGE - low) / (1 - low)
    return high - (high - factor) * (high - 1 - LEAST_CHANGE) / (high - 1)
