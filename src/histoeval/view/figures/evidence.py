"""Pictures of the evidence of one report: the image, and for each claim where it is borne out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from histoeval.errors import Problem
from histoeval.io.store import writing_to
from histoeval.run.trust.case import Instruments, Verdict, told
from histoeval.run.trust.rows import EVIDENCE, TrustRow
from histoeval.trust.grounding.embedded_image import EmbeddedImage
from histoeval.trust.results import Support
from histoeval.view.figures.heatmap import heatmap, support_picture

MOST_CLAIMS = 12
"""So many claims of a report are pictured, in the order of its text."""

SIDE = 320
"""Pixels along the longer side of the image in small."""

SEVERAL = 5
"""From so many patches on there is something to see on a heatmap."""


def with_pictures(verdict: Verdict, folder: Path, tools: Instruments) -> TrustRow:
    """The row, with pictures of its evidence drawn and named; those of a claim that are known.

    Names count rows and claims, since ids may hold what no file name can. A picture that cannot be
    drawn is told in its place and takes nothing from the row.
    """
    row = verdict.row
    if verdict.image is None or verdict.bag is None:
        return row
    pictures = list(_pictures(verdict, verdict.image, verdict.bag, folder, tools))
    evidence = {**row.evidence, "pictures": pictures} if pictures else row.evidence
    return row.model_copy(update={"evidence": evidence})


def _pictures(
    verdict: Verdict, image: Path, bag: EmbeddedImage, folder: Path, tools: Instruments
) -> Iterator[dict[str, Any]]:
    stem = f"{verdict.row.row:05}"
    small = folder / f"{stem}_image.png"
    yield {"shows": "image", **_drawn(small, lambda: _draw_small(image, small, tools))}
    if verdict.grounding is None:
        return
    supports = [each for each in verdict.grounding.supports if each.spot is not None]
    for number, support in enumerate(supports[:MOST_CLAIMS], start=1):
        named = {"claim": support.claim.phrase, "start": support.claim.span.start}
        yield from _of_claim(support, named, f"{stem}_{number:02}", image, bag, folder, tools)


def _of_claim(
    support: Support,
    named: dict[str, Any],
    stem: str,
    image: Path,
    bag: EmbeddedImage,
    folder: Path,
    tools: Instruments,
) -> Iterator[dict[str, Any]]:
    spot, mpp = support.spot, tools.tiling.mpp
    assert spot is not None, "only claims with a spot are pictured"
    crop = folder / f"{stem}_spot.png"
    drawn = _drawn(crop, lambda: support_picture(image, spot, crop, mpp=mpp))
    yield {"shows": "spot", **named, **drawn}
    if len(bag.spots) >= SEVERAL:
        (phrase,) = tools.eyes.texts([support.claim.phrase])
        heat = folder / f"{stem}_heatmap.png"
        drawn = _drawn(heat, lambda: heatmap(image, bag, phrase, heat, mpp=mpp))
        yield {"shows": "heatmap", **named, **drawn}


def _draw_small(image: Path, out: Path, tools: Instruments) -> None:
    from histoeval.slides.open import open_slide
    from histoeval.slides.overview import make_thumbnail

    with open_slide(image, mpp=tools.tiling.mpp) as slide:
        picture = make_thumbnail(slide, SIDE).convert("RGB")
    with writing_to(out.parent):
        out.parent.mkdir(parents=True, exist_ok=True)
        draft = out.with_suffix(".part")
        picture.save(draft, "PNG")
        draft.replace(out)


def _drawn(file: Path, draw: Callable[[], None]) -> dict[str, Any]:
    """The name of a picture, or why it is not there."""
    outcome = told(draw)
    if isinstance(outcome, Problem):
        return {"problem": outcome.message}
    return {"file": f"{EVIDENCE}/{file.name}"}
