"""A grounding model as a folder: towers, what is known, and limits set on what was held out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from histoeval.evaluate.grounding_scores import apart, auroc, figures, replaced_figures
from histoeval.evaluate.tile_labels import HE
from histoeval.train.grounding.calibration import fit_curves
from histoeval.train.grounding.cross_validation import FoldPredictions
from histoeval.train.grounding.export import (
    ManifestFields,
    said_by,
    seen_by,
    write_known,
    write_manifest,
    write_towers,
)
from histoeval.train.grounding.loop import TileDataset
from histoeval.train.grounding.model import ImageTowerModel
from histoeval.train.grounding.scope import (
    KEPT_IMAGES,
    KEPT_PHRASES,
    Vectors,
    fit_images,
    threshold,
    try_phrases,
    wordings_of,
)
from histoeval.train.grounding.text_tower import PhraseTower
from histoeval.trust.grounding import manifest as manifests

_SCOPED = 1500
"""Tiles that say what usual ones are like, run through the tower as it is written."""

_HAIR = 1e-6
"""So that what lies on a limit is known."""


@dataclass(frozen=True, slots=True)
class TrainedTowers:
    """Both towers as they were learned, and how phrases become tokens."""

    image: ImageTowerModel
    text: PhraseTower
    tokenizer: Any
    tokens_of: Callable[[Sequence[str]], list[list[int]]]


def write_model(folder: Path, made: TrainedTowers, lesson: TileDataset, tokens: int) -> Vectors:
    """Write towers and what they know; the meaning of each wording comes back."""
    usual = [place for place, tile in enumerate(lesson.tiles) if tile.stain_kind == HE]
    write_towers(made.image, made.text, made.tokenizer, folder, tokens=tokens)
    spread = usual[:: max(1, len(usual) // _SCOPED)]
    scope = fit_images(seen_by(folder, lesson.pixels[spread].cpu().numpy()))
    wordings, _ = wordings_of(lesson.entries)
    read = dict(zip(wordings, made.tokens_of(wordings), strict=True))
    vectors, meanings = said_by(folder, lesson.entries, read)
    write_known(folder, lesson.entries, vectors, meanings, scope)
    return meanings


def write_limits(
    folder: Path,
    lesson: TileDataset,
    trial: FoldPredictions,
    meanings: Vectors,
    described: ManifestFields,
) -> dict[str, Any]:
    """Write the manifest, with limits and curves from what was held out; the figures of that."""
    usual = [place for place, tile in enumerate(lesson.tiles) if tile.stain_kind == HE]
    tried = try_phrases(lesson.entries, meanings)
    limits = manifests.ScopeLimits(
        image=manifests.Limit(threshold=threshold(trial.distances[usual], KEPT_IMAGES)),
        stain=manifests.Limit(
            threshold=threshold(trial.stains(lesson)[usual], KEPT_IMAGES) + _HAIR
        ),
        phrases=manifests.Limit(threshold=-threshold(-tried.known, KEPT_PHRASES)),
    )
    found = trial.scored(lesson)
    curves = fit_curves(found)
    write_manifest(folder, described, scope=limits, calibrations=curves)
    organs = sorted({tile.organ for tile in lesson.tiles if tile.organ})
    return {
        **figures(found, organs),
        "replaced, tiles": replaced_figures(found, curves),
        "replaced, slides": replaced_figures(found.slides(np.max), curves),
        "scope, images": images_told(trial, lesson, limits),
        "scope, phrases": apart(tried.known, tried.unknown, limits.phrases.threshold),
    }


def images_told(
    trial: FoldPredictions, lesson: TileDataset, limits: manifests.ScopeLimits
) -> dict[str, Any]:
    """How often held-out tiles of each kind of stain are called unknown."""
    kinds = np.array([tile.stain_kind for tile in lesson.tiles])
    stains = trial.stains(lesson)
    unknown = (trial.distances >= limits.image.threshold) | (stains >= limits.stain.threshold)
    told: dict[str, Any] = {
        kind: {"count": int((kinds == kind).sum()), "unknown": float(unknown[kinds == kind].mean())}
        for kind in sorted(set(kinds))
    }
    told["AUROC of other stains by distance"] = auroc(trial.distances, list(kinds != HE))
    told["AUROC of other stains by stain"] = auroc(stains, list(kinds != HE))
    return told
