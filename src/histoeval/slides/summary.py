"""What there is to say of a slide before anything is cut from it."""

from __future__ import annotations

from typing import Any

from histoeval.slides.resolution import Resolution
from histoeval.slides.slide import Slide
from histoeval.slides.tissue import Tissue


def describe(slide: Slide, tissue: Tissue) -> dict[str, Any]:
    """Size, levels, resolution and tissue, as one object."""
    known = slide.resolution
    return {
        "file": slide.path.name,
        "format": slide.format,
        "width": slide.width,
        "height": slide.height,
        "mpp": None if known is None else [known.x, known.y],
        "mpp_source": "missing" if known is None else known.source,
        "levels": [
            _level(level.width, level.height, level.downsample, known) for level in slide.levels
        ],
        "tissue": round(tissue.share, 4),
        "tissue_mm2": None if known is None else round(_area(slide, tissue, known), 3),
        "ink": round(float(tissue.ink.mean()), 4),
        "black": round(float(tissue.black.mean()), 4),
        "notes": [*slide.notes, *_missing(slide, tissue)],
    }


def _level(width: int, height: int, scale: float, known: Resolution | None) -> dict[str, Any]:
    mpp = None if known is None else round(known.mean * scale, 4)
    return {"width": width, "height": height, "downsample": round(scale, 4), "mpp": mpp}


def _area(slide: Slide, tissue: Tissue, known: Resolution) -> float:
    return tissue.share * slide.width * known.x * slide.height * known.y / 1e6


def _missing(slide: Slide, tissue: Tissue) -> list[str]:
    notes = []
    if slide.resolution is None:
        notes.append("the file does not say its microns per pixel; give them with --mpp")
    if tissue.damage:
        notes.append(f"{tissue.damaged.mean():.1%} cannot be read: {tissue.damage[0]}")
    if not tissue.mask.any():
        notes.append(f"no tissue was found; {tissue.why_empty()}")
    return notes
