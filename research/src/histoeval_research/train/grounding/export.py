"""A trained grounding model as the folder that is shipped: ONNX with int8 weights, no torch."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from histoeval.evaluate.grounding import decided
from histoeval.evaluate.grounding_decisions import fit_decisions, told_organs
from histoeval.evaluate.grounding_scores import apart, auroc, figures, replaced_figures
from histoeval.evaluate.tile_labels import HE, SIDE, TileConcept
from histoeval.pathgls.grounding import builtin as manifests
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.reader.manifest import hash_of
from histoeval.runtime.onnx import Session
from histoeval.runtime.threads import cores
from histoeval.view.terminal.evaluation import OTHERS
from histoeval_research.train.core.onnx_int8 import OnnxPart, token_part, write_parts
from histoeval_research.train.grounding.cross_validation import FoldPredictions
from histoeval_research.train.grounding.loop import TileDataset
from histoeval_research.train.grounding.model import MEAN, STD, ImageTowerModel, PhraseTower
from histoeval_research.train.grounding.scope import (
    KEPT_IMAGES,
    KEPT_PHRASES,
    Vectors,
    WhiteningScope,
    fit_curves,
    fit_images,
    threshold,
    try_phrases,
    wordings_of,
)

_SCOPED = 1500
"""Tiles that say what usual ones are like, run through the tower as it is written."""

_HAIR = 1e-6
"""So that what lies on a limit is known."""


def image_vectors(folder: Path, pixels: npt.NDArray[np.uint8]) -> Vectors:
    """The vectors of tiles (colours first), as the written tower gives them."""
    session = Session(folder / manifests.IMAGE)
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))

    def run(tile: npt.NDArray[np.uint8]) -> Vectors:
        """One tile at a time, as it will be looked at later."""
        scaled = (tile.astype(np.float32) / np.float32(255) - mean) / std
        (rows,) = session.run(None, {"pixels": scaled[None]})
        return np.asarray(rows[0], np.float32)

    with ThreadPoolExecutor(cores()) as pool:
        return np.stack(list(pool.map(run, pixels)))


def entry_vectors_of(
    folder: Path, entries: Sequence[TileConcept], tokens: Mapping[str, Sequence[int]]
) -> tuple[Vectors, Vectors]:
    """For each entry the mean vector of its wordings, and the meaning of each wording."""
    session = Session(folder / manifests.TEXT)
    wordings, owners = wordings_of(entries)
    ran = [session.run(None, {"tokens": np.array([tokens[p]], np.int64)}) for p in wordings]
    vectors = np.concatenate([rows for rows, _ in ran])
    means = np.stack([vectors[owners == place].mean(axis=0) for place in range(len(entries))])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    return means.astype(np.float32), np.concatenate([rows for _, rows in ran]).astype(np.float32)


def write_known(
    folder: Path,
    entries: Sequence[TileConcept],
    vectors: Vectors,
    meanings: Vectors,
    scope: WhiteningScope,
) -> None:
    """Keep what the model has learned of: entries, their wordings, and usual images."""
    wordings, owners = wordings_of(entries)
    np.savez(
        folder / manifests.KNOWN,
        entries=np.array([entry.name for entry in entries]),
        groups=np.array([entry.group for entry in entries]),
        vectors=vectors.astype(np.float16),
        wordings=np.array(wordings),
        owners=owners.astype(np.int32),
        meanings=meanings.astype(np.float16),
        centre=scope.centre,
        whitening=scope.whitening,
    )


@dataclass(frozen=True, slots=True)
class ManifestFields:
    """What a manifest says beside limits and curves."""

    name: str
    dimension: int
    temperature: float
    tokens: int
    details: Mapping[str, Any]


def write_manifest(
    folder: Path,
    described: ManifestFields,
    *,
    scope: manifests.ScopeLimits,
    calibrations: Mapping[str, manifests.LogisticCalibration],
    decisions: Decisions | None = None,
) -> None:
    """Write the manifest, with the hashes of what stands beside it."""
    manifests.write_grounding_manifest(
        folder,
        manifests.GroundingManifest(
            name=described.name,
            files={file: hash_of(folder / file) for file in manifests.FILES},
            image=manifests.ImageTowerSpec(size=SIDE, mean=MEAN, std=STD),
            text=manifests.TextTower(max_tokens=described.tokens),
            dimension=described.dimension,
            temperature=described.temperature,
            scope=scope,
            calibrations=dict(calibrations),
            decisions=decisions,
            details=dict(described.details),
        ),
    )


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
    pixels = {"pixels": torch.randn(1, 3, SIDE, SIDE)}
    parts = {
        manifests.IMAGE: OnnxPart(made.image, pixels, {"pixels": None}, ["vectors"]),
        manifests.TEXT: token_part(made.text, tokens, ["vectors", "meanings"]),
    }
    write_parts(folder, parts, made.tokenizer)
    spread = usual[:: max(1, len(usual) // _SCOPED)]
    scope = fit_images(image_vectors(folder, lesson.pixels[spread].cpu().numpy()))
    wordings, _ = wordings_of(lesson.entries)
    read = dict(zip(wordings, made.tokens_of(wordings), strict=True))
    vectors, meanings = entry_vectors_of(folder, lesson.entries, read)
    write_known(folder, lesson.entries, vectors, meanings, scope)
    return meanings


def write_limits(
    folder: Path,
    lesson: TileDataset,
    trials: tuple[FoldPredictions, FoldPredictions],
    meanings: Vectors,
    described: ManifestFields,
) -> dict[str, Any]:
    """Write the manifest, with limits and curves from what was held out; its scores."""
    trial, elsewhere = trials
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
    decisions = decided_limits(lesson, trials)
    write_manifest(folder, described, scope=limits, calibrations=curves, decisions=decisions)
    organs = sorted({tile.organ for tile in lesson.tiles if tile.organ})
    return {
        **({} if not elsewhere.seen.any() else {OTHERS: figures(elsewhere.scored(lesson), organs)}),
        **figures(found, organs),
        **({} if decisions is None else decided(trial.judged(lesson), decisions)),
        "replaced, tiles": replaced_figures(found, curves),
        "replaced, slides": replaced_figures(found.slides(np.max), curves),
        "scope, images": images_told(trial, lesson, limits),
        "scope, phrases": apart(tried.known, tried.unknown, limits.phrases.threshold),
    }


def decided_limits(
    lesson: TileDataset, trials: tuple[FoldPredictions, FoldPredictions]
) -> Decisions | None:
    """When answers count; nothing where fewer than two organs have enough cases."""
    organs = told_organs(lesson.tiles)
    if len(organs) < 2:
        return None
    laboratories = {tile.laboratory for tile in lesson.tiles}
    cases = {tile.case for tile in lesson.tiles}
    judged = [trial.judged(lesson) for trial in trials[: len(laboratories)]]
    measured_on = f"{len(cases)} cases of {len(laboratories)} laboratories, held out by both"
    return fit_decisions(judged, organs, "", measured_on)


def images_told(
    trial: FoldPredictions, lesson: TileDataset, limits: manifests.ScopeLimits
) -> dict[str, Any]:
    """How often held-out tiles of each kind of stain are called unknown."""
    kinds = np.array([tile.stain_kind for tile in lesson.tiles])
    stains = trial.stains(lesson)
    unknown = (trial.distances >= limits.image.threshold) | (stains >= limits.stain.threshold)
    found: dict[str, Any] = {
        kind: {"count": int((kinds == kind).sum()), "unknown": float(unknown[kinds == kind].mean())}
        for kind in sorted(set(kinds))
    }
    found["AUROC of other stains by distance"] = auroc(trial.distances, list(kinds != HE))
    found["AUROC of other stains by stain"] = auroc(stains, list(kinds != HE))
    return found


HELD_OUT = "held_out.npz"
"""Not part of the model: what decisions are fitted on, so that this needs no second training."""


def keep_held_out(folder: Path, lesson: TileDataset, trials: Sequence[FoldPredictions]) -> None:
    """Keep what was predicted for tiles that a model had not learned, by case and laboratory."""
    parts: dict[str, Any] = {
        "keys": np.array([tile.key for tile in lesson.tiles]),
        "entries": np.array([entry.name for entry in lesson.entries]),
        "groups": np.array([entry.group for entry in lesson.entries]),
    }
    for name, trial in zip(("case", "laboratory"), trials, strict=True):
        parts[f"{name}_cosines"] = trial.cosines.astype(np.float16)
        parts[f"{name}_distances"] = trial.distances.astype(np.float32)
        parts[f"{name}_seen"] = trial.seen
        parts[f"{name}_taught"] = trial.taught
    np.savez_compressed(folder / HELD_OUT, **parts)
