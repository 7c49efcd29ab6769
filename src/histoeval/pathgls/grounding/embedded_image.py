"""An image as vectors of its patches, each with its position.

A picture of up to 2048 px is one tile at its own pixels, whatever its resolution (patch level). A
slide is searched for tissue and cut into tiles by microns per pixel (slide level). Patches stream
from the file to the encoder in small batches; only their vectors are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from histoeval.callers import argument
from histoeval.errors import InputError, Problem, SettingError
from histoeval.pathgls.grounding.encoder import ImageTextEncoder, Vectors, unknown_images
from histoeval.pathgls.results import Spot

if TYPE_CHECKING:
    from histoeval.pathgls.grounding.patches import Patch, SkippedPatches
    from histoeval.slides.slide import Slide
    from histoeval.slides.tiles import TileRequest
    from histoeval.slides.tissue import Tissue

PICTURE = 2048
"""Pixels along the longer side up to which an image is taken as one tile."""

SAMPLED = 128
"""Tiles of a slide that are encoded by default, spread over its tissue."""

BATCH = 32
"""Patches that are held in memory at once."""

Watch = Callable[[int], None]
"""Called with the number of patches that are encoded so far."""


class EmbeddedImage(NamedTuple):
    """The patches of an image: their vectors and positions."""

    vectors: Vectors
    spots: tuple[Spot, ...]
    notes: tuple[str, ...]
    unknown: tuple[str | None, ...]
    """For each patch why it is out of the encoder's scope; None where it is not."""


def _no_progress(done: int) -> None:
    pass


def embed_image(
    path: Path | str,
    encoder: ImageTextEncoder,
    request: TileRequest | None = None,
    *,
    mpp: float | None = None,
    watch: Watch = _no_progress,
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
    except TruncatedSlide as error:
        return Problem("image_truncated", _discreet(error, path))
    except InputError as error:
        return Problem("image_unusable", _discreet(error, path))


def _embed(
    slide: Slide, encoder: ImageTextEncoder, request: TileRequest | None, watch: Watch
) -> EmbeddedImage | Problem:
    from histoeval.pathgls.grounding.patches import ENLARGED, SkippedPatches
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
    skipped = SkippedPatches()
    if max(slide.width, slide.height) <= PICTURE:
        from histoeval.pathgls.grounding.patches import picture_patches

        return _filled(
            picture_patches(slide, tissue, side, skipped), (), slide, encoder, watch, skipped
        )
    found = _tiled(slide, tissue, request, side, skipped)
    if isinstance(found, Problem):
        return found
    patches, notes = found
    return _filled(patches, notes, slide, encoder, watch, skipped)


def _tiled(
    slide: Slide, tissue: Tissue, request: TileRequest | None, side: int, skipped: SkippedPatches
) -> tuple[Iterator[Patch], tuple[str, ...]] | Problem:
    """The patches of the tiles of a slide, and notes on the tiles."""
    from histoeval.pathgls.grounding.patches import slide_patches
    from histoeval.slides.tiles import TileRequest, plan_tiles

    wanted = request or TileRequest(sample=SAMPLED)
    if wanted.size < side:
        raise SettingError(f"tiles of {wanted.size} px hold no patch of {side} px")
    notes: tuple[str, ...] = ()
    if slide.resolution is None and wanted.mpp is not None:
        if slide.format != "picture":
            return Problem(
                "mpp_missing",
                f"{slide.path.name} does not say its microns per pixel, and they are not guessed; "
                f"give them with {argument('mpp')}",
            )
        wanted = replace(wanted, mpp=None)
        notes = ("a picture without microns per pixel: tiles were cut from its pixels as stored",)
    plan = plan_tiles(slide, tissue, wanted)
    if len(plan.places) < plan.with_tissue:
        notes += (
            f"{len(plan.places)} of {plan.with_tissue} tiles with tissue were used, "
            f"spread by seed {wanted.seed}",
        )
    return slide_patches(slide, plan, tissue, side, skipped), (*notes, *plan.notes)


def _filled(
    patches: Iterable[Patch],
    notes: tuple[str, ...],
    slide: Slide,
    encoder: ImageTextEncoder,
    watch: Watch,
    skipped: SkippedPatches,
) -> EmbeddedImage | Problem:
    """The vectors of patches, encoded batch by batch."""
    vectors, spots = [], []
    waiting = iter(patches)
    while batch := list(islice(waiting, BATCH)):
        vectors.append(encoder.images([patch.pixels for patch in batch]))
        spots += [patch.spot for patch in batch]
        watch(len(spots))
    notes = (*slide.notes, *notes, *skipped.notes())
    if not spots:
        return Problem("no_tissue", f"{slide.path.name}: no patch shows tissue; {'; '.join(notes)}")
    joined = np.concatenate(vectors)
    return EmbeddedImage(joined, tuple(spots), notes, tuple(unknown_images(encoder, joined)))


def _discreet(error: InputError, path: Path) -> str:
    """What went wrong, without the folder that the image lies in."""
    return str(error).replace(str(path), path.name)
