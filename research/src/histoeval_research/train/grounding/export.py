"""A trained grounding model as the folder that is shipped, with the limits of what it knows.

Images are known by their distance from those of the training; phrases by the cosine of their
meaning with the nearest wording that was learned. The scores, the calibration and both limits come
from predictions for tiles that a model has not learned (`trials`).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from histoeval.evaluate.grounding import decided
from histoeval.evaluate.grounding_decisions import fit_decisions, told_organs
from histoeval.evaluate.grounding_scores import (
    CLAIMED,
    KINDS,
    Array,
    ScoredClaims,
    ScoredTiles,
    apart,
    auroc,
    claims_of,
    figures,
    replaced_figures,
)
from histoeval.evaluate.tile_labels import HE, SIDE, TileConcept
from histoeval.pathgls.grounding import builtin as manifests
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.reader.manifest import hash_of
from histoeval.runtime.onnx import Session
from histoeval.runtime.threads import cores
from histoeval.statistics.regression import fit_logistic
from histoeval.view.terminal.evaluation import OTHERS
from histoeval_research.train.core.onnx_int8 import OnnxPart, token_part, write_parts
from histoeval_research.train.grounding.learn import TileDataset
from histoeval_research.train.grounding.model import MEAN, STD, ImageTowerModel, PhraseTower
from histoeval_research.train.grounding.trials import (
    FoldPredictions,
    Vectors,
    fit_images,
    usual_rows,
)

KEPT_IMAGES, KEPT_PHRASES = 0.96, 0.85
"""The shares of known things, unseen in learning, that should be called known.

Fewer of phrases: most are worded as they were learned, and a diagnosis that was never learned but
is called known is worse than a wording that is refused.
"""

HELD_OUT = "held_out.npz"
"""Not part of the model: what decisions are fitted on, so that this needs no second training."""

_SCOPED = 1500
"""Tiles that say what usual ones are like, run through the tower as it is written."""
_HAIR = 1e-6
"""So that what lies on a limit is known."""
_CALM = 1e-6
"""Keeps a curve from becoming a step where two heaps do not touch."""

Trials = tuple[FoldPredictions, FoldPredictions]
"""By case, and by laboratory."""


def write_towers(
    folder: Path,
    image: ImageTowerModel,
    text: PhraseTower,
    tokenizer: Any,
    tokens_of: Callable[[Sequence[str]], list[list[int]]],
    tokens: int,
    lesson: TileDataset,
) -> Vectors:
    """Write towers and what they know; the meaning of each wording comes back.

    What is known are entries, their wordings, and what usual images are like.
    """
    pixels = {"pixels": torch.randn(1, 3, SIDE, SIDE)}
    parts = {
        manifests.IMAGE: OnnxPart(image, pixels, {"pixels": None}, ["vectors"]),
        manifests.TEXT: token_part(text, tokens, ["vectors", "meanings"]),
    }
    write_parts(folder, parts, tokenizer)
    usual = usual_rows(lesson.tiles)
    spread = usual[:: max(1, len(usual) // _SCOPED)]
    scope = fit_images(_image_vectors(folder, lesson.pixels[spread].cpu().numpy()))
    wordings, owners = wordings_of(lesson.entries)
    session = Session(folder / manifests.TEXT)
    ran = [session.run(None, {"tokens": np.array([row], np.int64)}) for row in tokens_of(wordings)]
    vectors, meanings = (np.concatenate(rows) for rows in zip(*ran, strict=True))
    places = range(len(lesson.entries))
    means = np.stack([vectors[owners == place].mean(axis=0) for place in places])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    np.savez(
        folder / manifests.KNOWN,
        entries=np.array([entry.name for entry in lesson.entries]),
        groups=np.array([entry.group for entry in lesson.entries]),
        vectors=means.astype(np.float32).astype(np.float16),
        wordings=np.array(wordings),
        owners=owners.astype(np.int32),
        meanings=meanings.astype(np.float16),
        centre=scope.centre,
        whitening=scope.whitening,
    )
    return meanings.astype(np.float32)


def _image_vectors(folder: Path, pixels: npt.NDArray[np.uint8]) -> Vectors:
    """The vectors of tiles (colours first), as the written tower gives them, one at a time."""
    session = Session(folder / manifests.IMAGE)
    mean, std = (np.array(v, np.float32).reshape(3, 1, 1) for v in (MEAN, STD))

    def run(tile: npt.NDArray[np.uint8]) -> Vectors:
        scaled = (tile.astype(np.float32) / np.float32(255) - mean) / std
        (rows,) = session.run(None, {"pixels": scaled[None]})
        return np.asarray(rows[0], np.float32)

    with ThreadPoolExecutor(cores()) as pool:
        return np.stack(list(pool.map(run, pixels)))


def wordings_of(entries: Sequence[TileConcept]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """All wordings of the bank, and for each the place of its entry."""
    wordings = [(phrase, place) for place, entry in enumerate(entries) for phrase in entry.phrases]
    return [phrase for phrase, _ in wordings], np.array([place for _, place in wordings], np.int64)


def write_limits(
    folder: Path,
    lesson: TileDataset,
    trials: Trials,
    meanings: Vectors,
    **described: Any,
) -> dict[str, Any]:
    """Write the manifest, with limits and curves from what was held out; its scores.

    `described` are what the manifest says besides.
    """
    trial, elsewhere = trials
    usual = usual_rows(lesson.tiles)
    tried = try_phrases(lesson.entries, meanings)
    stains = trial.stains(lesson)
    limits = manifests.ScopeLimits(
        image=_limit(np.quantile(trial.distances[usual], KEPT_IMAGES)),
        stain=_limit(np.quantile(stains[usual], KEPT_IMAGES) + _HAIR),
        phrases=_limit(-np.quantile(-tried.known, KEPT_PHRASES)),
    )
    scored = trial.scored(lesson)
    curves = fit_curves(scored)
    decisions = _decisions(lesson, trials)
    manifests.write_grounding_manifest(
        folder,
        manifests.GroundingManifest(
            files={file: hash_of(folder / file) for file in manifests.FILES},
            image=manifests.ImageTowerSpec(size=SIDE, mean=MEAN, std=STD),
            scope=limits,
            calibrations=curves,
            decisions=decisions,
            **described,
        ),
    )
    organs = sorted({tile.organ for tile in lesson.tiles if tile.organ})
    kinds = np.array([tile.stain_kind for tile in lesson.tiles])
    unknown = (trial.distances >= limits.image.threshold) | (stains >= limits.stain.threshold)
    images: dict[str, Any] = {
        kind: {"count": int((kinds == kind).sum()), "unknown": float(unknown[kinds == kind].mean())}
        for kind in sorted(set(kinds))
    }
    images["AUROC of other stains by distance"] = auroc(trial.distances, list(kinds != HE))
    images["AUROC of other stains by stain"] = auroc(stains, list(kinds != HE))
    by_organ = {} if not elsewhere.seen.any() else figures(elsewhere.scored(lesson), organs)
    judged = trial.scored(lesson, only_seen=False)
    return {
        **({OTHERS: by_organ} if by_organ else {}),
        **figures(scored, organs),
        **({} if decisions is None else decided(judged, decisions)),
        "replaced, tiles": replaced_figures(scored, curves),
        "replaced, slides": replaced_figures(scored.slides(np.max), curves),
        "scope, images": images,
        "scope, phrases": apart(tried.known, tried.unknown, limits.phrases.threshold),
    }


def _limit(threshold: np.floating[Any]) -> manifests.Limit:
    return manifests.Limit(threshold=float(threshold))


def _decisions(lesson: TileDataset, trials: Trials) -> Decisions | None:
    """When answers count; nothing where fewer than two organs have enough cases."""
    organs = told_organs(lesson.tiles)
    if len(organs) < 2:
        return None
    laboratories = {tile.laboratory for tile in lesson.tiles}
    cases = {tile.case for tile in lesson.tiles}
    judged = [trial.scored(lesson, only_seen=False) for trial in trials[: len(laboratories)]]
    measured_on = f"{len(cases)} cases of {len(laboratories)} laboratories, held out by both"
    return fit_decisions(judged, organs, "", measured_on)


class PhraseTrial(NamedTuple):
    """Likeness of wordings to the rest of the bank, when they are skipped of it."""

    known: Array
    """Only the wording is skipped: the bank has its entry in other words."""
    unknown: Array
    """All that says the same entry is skipped: as if it had never been learned."""


def try_phrases(entries: Sequence[TileConcept], meanings: Vectors) -> PhraseTrial:
    """Leave out one wording at a time, and then one concept or organ at a time."""
    _, owners = wordings_of(entries)
    cosines = (meanings @ meanings.T).astype(np.float64)
    np.fill_diagonal(cosines, -1.0)
    same = owners[:, None] == owners[None, :]
    is_tried = np.array([entries[owner].group in ("concept", "organ") for owner in owners])
    is_alone = same.sum(axis=1) == 1
    known = cosines.max(axis=1)[is_tried & ~is_alone]
    # Related entries share a wording, or one holds the name of the other.
    words = [{phrase.lower() for phrase in entry.phrases} for entry in entries]
    related = np.eye(len(entries), dtype=bool)
    for one, entry in enumerate(entries):
        name = entry.name.lower()
        for other, phrases in enumerate(words):
            if words[one] & phrases or any(name in phrase for phrase in phrases):
                related[one, other] = True
    others = np.where(related[owners][:, owners], -1.0, cosines)
    return PhraseTrial(known, others.max(axis=1)[is_tried])


def fit_curves(scored: ScoredTiles) -> dict[str, ClaimCalibration]:
    """A curve for each kind of claim, with true claims and decoys of the same weight."""
    curves = {}
    for kind in dict.fromkeys(KINDS.values()):
        claims = claims_of(scored, [group for group in CLAIMED if KINDS[group] == kind])
        if claims.true.any() and not claims.true.all():
            curves[kind] = fit_curve(claims)
    return curves


def fit_curve(claims: ScoredClaims) -> ClaimCalibration:
    """The logistic curve by which true claims are likeliest true and decoys false."""
    weights = np.where(claims.true, 0.5 / claims.true.sum(), 0.5 / (~claims.true).sum())
    truth = claims.true.astype(np.float64)
    slope, offset = fit_logistic(claims.distances, truth, weights, ridge=_CALM)
    return ClaimCalibration(slope=slope, midpoint=-offset / slope)


def keep_held_out(folder: Path, lesson: TileDataset, trials: Trials) -> None:
    """Keep what was predicted for tiles that a model had not learned, by case and laboratory."""
    parts: dict[str, Any] = {
        "keys": np.array([tile.key for tile in lesson.tiles]),
        "entries": np.array([entry.name for entry in lesson.entries]),
        "groups": np.array([entry.group for entry in lesson.entries]),
    }
    for name, trial in zip(("case", "laboratory"), trials, strict=True):
        parts |= {
            f"{name}_cosines": trial.cosines.astype(np.float16),
            f"{name}_distances": trial.distances.astype(np.float32),
            f"{name}_seen": trial.seen,
            f"{name}_taught": trial.taught,
        }
    np.savez_compressed(folder / HELD_OUT, **parts)
