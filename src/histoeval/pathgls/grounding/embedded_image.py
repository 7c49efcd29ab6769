"""An image as vectors of its patches, each with its position.

A picture of up to 2048 px is one tile at its own pixels; a slide is searched for tissue and cut
into tiles by microns per pixel. Patches stream to the encoder; only their vectors are kept.

Patches of 224 px lie side by side (stride 224, as PathGLS has it): four in a tile of 512 px. A rest
at the right or lower edge of half a patch or more gets one that is moved inwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from histoeval.argument_names import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.pathgls.grounding.encoder import (
    ImageTextEncoder,
    SlideTextEncoder,
    Vectors,
    why_unknown,
)
from histoeval.pathgls.results import Spot
from histoeval.progress import ignore

if TYPE_CHECKING:
    from histoeval.slides.slide import Pixels, Slide
    from histoeval.slides.tiles import TilePlan, TileRequest
    from histoeval.slides.tissue import Tissue

PICTURE = 2048  # pixels along the longer side up to which an image is taken as one tile
SAMPLED = 128  # tiles of a slide that are encoded by default, spread over its tissue
BATCH = 32  # patches that are held in memory at once

# A picture smaller than a patch is enlarged at most this many times; there is no detail beyond
ENLARGED = 2

LEAST_TISSUE = 0.1  # share of a patch that must be tissue; glass supports no claim

# Problems of tiles, human-readable
TILES = {
    "damaged_tile": "tiles that cannot be read",
    "black_tile": "tiles that are black",
    "blank_tile": "tiles of one colour",
}

Watch = Callable[[int], None]  # called with the number of patches that are encoded so far


class Patch(NamedTuple):
    pixels: Pixels
    spot: Spot


class EmbeddedImage(NamedTuple):
    vectors: Vectors
    spots: tuple[Spot, ...]
    notes: tuple[str, ...]
    # For each patch why it is out of the encoder's scope; None where it is not
    unknown: tuple[str | None, ...]


def embed_image(
    path: Path | str,
    encoder: ImageTextEncoder,
    request: TileRequest | None = None,
    *,
    mpp: float | None = None,
    watch: Watch = ignore,
) -> EmbeddedImage | Problem:
    """The vectors of a picture or slide; or why there are none.

    Without a request, a seeded, spread sample of 128 tiles of a slide is encoded; one without
    `sample` means all of them. `mpp` gives the microns per pixel where the file does not.
    """
    from histoeval.slides.open import open_slide
    from histoeval.slides.slide import TruncatedSlide

    path = Path(path)
    try:
        with open_slide(path, mpp=mpp) as slide:
            return _embed(slide, encoder, request, watch)
    except InputError as error:
        code = "image_truncated" if isinstance(error, TruncatedSlide) else "image_unusable"
        # without the folder that the image lies in
        return Problem(code, str(error).replace(str(path), path.name))


def _embed(
    slide: Slide, encoder: ImageTextEncoder, request: TileRequest | None, watch: Watch
) -> EmbeddedImage | Problem:
    from histoeval.slides.tiles import TileRequest, plan_tiles
    from histoeval.slides.tissue import find_tissue

    name, side = slide.path.name, encoder.size
    if (shorter := min(slide.width, slide.height)) * ENLARGED < side:
        return Problem(
            "image_too_small",
            f"{name} has {slide.width} x {slide.height} px; a patch has {side} px, and {shorter} "
            f"px cannot be enlarged more than {ENLARGED} times",
        )
    tissue = find_tissue(slide)
    if not tissue.mask.any():
        return Problem("no_tissue", f"{name}: no tissue was found; {tissue.why_empty()}")
    skipped = Counter[str]()
    notes: tuple[str, ...] = ()
    if max(slide.width, slide.height) <= PICTURE:
        patches = picture_patches(slide, tissue, side, skipped)
    else:
        request = request or TileRequest(sample=SAMPLED)
        if request.size < side:
            raise SettingError(f"tiles of {request.size} px hold no patch of {side} px")
        cut_by = cutting(slide, request)
        if isinstance(cut_by, Problem):
            return cut_by
        request, notes = cut_by
        plan = plan_tiles(slide, tissue, request)
        if len(plan.places) < plan.with_tissue:
            used = f"{len(plan.places)} of {plan.with_tissue} tiles with tissue were used"
            notes += (f"{used}, spread by seed {request.seed}",)
        notes += plan.notes
        patches = slide_patches(slide, plan, tissue, side, skipped)
    vectors, spots = [], []
    while batch := list(islice(patches, BATCH)):
        vectors.append(encoder.images([patch.pixels for patch in batch]))
        spots += [patch.spot for patch in batch]
        watch(len(spots))
    counted = (f"{count} skipped: {reason}" for reason, count in sorted(skipped.items()))
    notes = (*slide.notes, *notes, *counted)
    if not spots:
        return Problem("no_tissue", f"{name}: no patch shows tissue; {'; '.join(notes)}")
    joined = np.concatenate(vectors)
    return EmbeddedImage(joined, tuple(spots), notes, tuple(why_unknown(encoder, "images", joined)))


def cutting(slide: Slide, request: TileRequest) -> tuple[TileRequest, tuple[str, ...]] | Problem:
    """Choose how to cut a file that lacks its microns per pixel, with a note; or a problem."""
    if slide.resolution is not None or request.mpp is None:
        return request, ()
    if slide.format == "picture":
        note = "a picture without microns per pixel: tiles were cut from its pixels as stored"
        return replace(request, mpp=None), (note,)
    return Problem(
        "mpp_missing",
        f"{slide.path.name} does not say its microns per pixel, and they are not guessed; "
        f"give them with {argument('mpp')}",
    )


def as_slide(image: EmbeddedImage, encoder: ImageTextEncoder) -> EmbeddedImage:
    """The image as one vector where the encoder is one of slides: no best patch, no heatmap."""
    if not isinstance(encoder, SlideTextEncoder):
        return image
    vectors = encoder.slides(image.vectors, image.spots)
    left, top = min(spot.x for spot in image.spots), min(spot.y for spot in image.spots)
    right = max(spot.x + spot.width for spot in image.spots)
    bottom = max(spot.y + spot.height for spot in image.spots)
    note = f"one vector for the slide, from {len(image.spots)} patches: no best patch is known"
    return EmbeddedImage(
        vectors,
        (Spot(x=left, y=top, width=right - left, height=bottom - top),),
        (*image.notes, note),
        tuple(why_unknown(encoder, "slides", vectors)),
    )


def offsets(length: int, side: int) -> list[int]:
    whole, rest = divmod(length, side)
    starts = [number * side for number in range(whole)]
    return [*starts, length - side] if whole and rest * 2 >= side else starts


def picture_patches(
    slide: Slide, tissue: Tissue, side: int, skipped: Counter[str]
) -> Iterator[Patch]:
    """The patches of a picture taken as one tile, enlarged to the side of a patch at least."""
    from PIL import Image

    pixels = slide.region(0, 0, 0, slide.width, slide.height)
    scale = max(1.0, side / min(slide.width, slide.height))
    if scale > 1:
        size = max(side, round(slide.width * scale)), max(side, round(slide.height * scale))
        pixels = np.asarray(Image.fromarray(pixels).resize(size, Image.Resampling.BICUBIC))
    whole = Spot(x=0, y=0, width=slide.width, height=slide.height)
    yield from _shown(pixels, whole, side, tissue, skipped)


def slide_patches(
    slide: Slide, plan: TilePlan, tissue: Tissue, side: int, skipped: Counter[str]
) -> Iterator[Patch]:
    from histoeval.slides.tiles import read_tiles

    for tile in read_tiles(slide, plan):
        if tile.pixels is None:
            code = tile.problem.code if tile.problem else "tiles without pixels"
            skipped[TILES.get(code, code)] += 1
            continue
        place = tile.place
        spot = Spot(x=place.x, y=place.y, width=place.width, height=place.height)
        yield from _shown(tile.pixels, spot, side, tissue, skipped)


def _shown(
    pixels: Pixels, whole: Spot, side: int, tissue: Tissue, skipped: Counter[str]
) -> Iterator[Patch]:
    from histoeval.slides.tissue import BLACK

    for patch in cut(pixels, whole, side):
        if patch.pixels.max() < BLACK:
            skipped["patches that are black"] += 1
            continue
        spot, scale = patch.spot, tissue.scale
        top, left = int(spot.y / scale), int(spot.x / scale)
        bottom = max(top + 1, round((spot.y + spot.height) / scale))
        right = max(left + 1, round((spot.x + spot.width) / scale))
        area = slice(top, bottom), slice(left, right)
        is_usable = tissue.mask[area] | tissue.damaged[area]  # tissue, or not readable
        if is_usable.size and is_usable.mean() >= LEAST_TISSUE:
            yield patch
        else:
            skipped["patches with hardly any tissue"] += 1


def cut(pixels: Pixels, whole: Spot, side: int) -> Iterator[Patch]:
    height, width = pixels.shape[:2]
    across, down = whole.width / width, whole.height / height
    for y in offsets(height, side):
        for x in offsets(width, side):
            spot = Spot(
                x=whole.x + round(x * across),
                y=whole.y + round(y * down),
                width=max(1, round(side * across)),
                height=max(1, round(side * down)),
            )
            yield Patch(np.ascontiguousarray(pixels[y : y + side, x : x + side]), spot)
