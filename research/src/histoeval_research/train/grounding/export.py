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

from histoeval.evaluate.grounding import decided, fit_decisions, told_organs
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
from histoeval.evaluate.tile_labels import HE, SIDE, TRUE, LabelledTile, TileConcept
from histoeval.pathgls.grounding import builtin as manifests
from histoeval.pathgls.grounding.builtin import stain_scores
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.reader.manifest import hash_of
from histoeval.runtime.onnx import Session
from histoeval.runtime.threads import cores
from histoeval.statistics.regression import fit_logistic
from histoeval.view.terminal.evaluation import OTHERS
from histoeval_research.train.core.loop import TrainingStage
from histoeval_research.train.core.onnx_int8 import OnnxPart, token_part, write_parts
from histoeval_research.train.grounding.learn import TileDataset, embedded, entry_vectors
from histoeval_research.train.grounding.model import (
    MEAN,
    STD,
    ContrastiveModel,
    ImageTowerModel,
    PhraseTower,
)

# How much of the covariance is replaced by that of a ball, against chance directions.
_SHRINKAGE = 0.05

Vectors = npt.NDArray[np.float32]


class WhiteningScope(NamedTuple):
    """A centre, and a matrix after which usual vectors have length 1."""

    centre: Vectors
    whitening: Vectors

    def distances(self, vectors: Vectors) -> Array:
        moved = (vectors - self.centre) @ self.whitening
        return np.asarray(np.linalg.norm(moved.astype(np.float64), axis=1), np.float64)


def fit_images(vectors: Vectors) -> WhiteningScope:
    """The scope of these vectors; their root mean square distance is 1."""
    rows = vectors.astype(np.float64)
    centre = rows.mean(axis=0)
    spread = np.cov(rows - centre, rowvar=False)
    size = len(spread)
    ball = np.trace(spread) / size * np.eye(size)
    values, axes = np.linalg.eigh((1 - _SHRINKAGE) * spread + _SHRINKAGE * ball)
    whitening = (axes / np.sqrt(values * size)) @ axes.T
    return WhiteningScope(centre.astype(np.float32), whitening.astype(np.float32))


def usual_rows(tiles: Sequence[LabelledTile]) -> list[int]:
    """The tiles in H&E."""
    return [place for place, tile in enumerate(tiles) if tile.stain_kind == HE]


class FoldPredictions(NamedTuple):
    """What models predicted for tiles they had not learned."""

    cosines: Array  # tiles by entries
    distances: Array  # how far each tile lies from those that its model had learned in H&E
    # Whether the organ of a tile was among those that its model had learned.
    seen: npt.NDArray[np.bool_]
    taught: npt.NDArray[np.bool_]  # for each tile which entries its model had learned of

    def stains(self, lesson: TileDataset) -> Array:
        groups = [entry.group for entry in lesson.entries]
        return stain_scores(self.cosines, groups, [entry.name for entry in lesson.entries])

    def scored(self, lesson: TileDataset, *, only_seen: bool = True) -> ScoredTiles:
        rows = [n for n in usual_rows(lesson.tiles) if self.seen[n] or not only_seen]
        tiles = [lesson.tiles[i] for i in rows]
        return ScoredTiles(tiles, lesson.entries, self.cosines[rows], self.taught[rows])


class Fold(NamedTuple):
    """The tiles that are learned, and those that are not."""

    name: str
    rows: list[int]
    held: list[int]


def case_folds(tiles: Sequence[LabelledTile], count: int, seed: int = 0) -> list[Fold]:
    """So many folds over all cases; all tiles of a case are in one."""
    kinds: dict[str, tuple[str, str]] = {}
    for tile in tiles:
        kinds.setdefault(tile.case, (str(tile.organ), str(tile.behaviour)))
    draws = np.random.default_rng(seed)
    cases = sorted(kinds, key=lambda case: (kinds[case], draws.random()))
    dealt = {case: place % count for place, case in enumerate(cases)}
    names = [f"fold {n + 1} of {count}" for n in range(count)]
    return _folds([dealt[tile.case] for tile in tiles], names)


def laboratory_folds(tiles: Sequence[LabelledTile]) -> list[Fold]:
    names = sorted({tile.laboratory for tile in tiles})
    numbers = [names.index(tile.laboratory) for tile in tiles]
    return _folds(numbers, [f"without {name}" for name in names])


def _folds(numbers: Sequence[int], names: Sequence[str]) -> list[Fold]:
    fold = np.array(numbers, np.int64)
    folds = [
        Fold(name, np.flatnonzero(fold != n).tolist(), np.flatnonzero(fold == n).tolist())
        for n, name in enumerate(names)
    ]
    return [fold for fold in folds if fold.rows and fold.held]


def cross_validate(
    lesson: TileDataset,
    folds: Sequence[Fold],
    teach: Callable[[str, Sequence[int]], ContrastiveModel],
    stages: Callable[[str, int], TrainingStage],
    steps: Callable[[int], int],
) -> FoldPredictions:
    """Train a model for each fold on all other folds, and have it judge this one."""
    # `teach` gives a model that has learned some rows in a stage of some name. What a finished fold
    # gave is not computed again; its steps, by the number of tiles, count as taken.
    tiles, pixels = lesson.tiles, lesson.pixels
    cosines = np.zeros((len(tiles), len(lesson.entries)))
    distances = np.zeros(len(tiles))
    seen = np.zeros(len(tiles), bool)
    taught = np.zeros(cosines.shape, bool)
    true = (lesson.targets == TRUE).cpu().numpy()
    for name, rows, held in folds:

        def judge(name: str = name, rows: list[int] = rows, held: list[int] = held) -> Any:
            model = teach(name, rows)
            usual = [i for i in rows if tiles[i].stain_kind == HE]
            vectors, learned = (
                embedded(model.image, pixels[torch.tensor(some).to(pixels.device)])
                for some in (held, usual)
            )
            scores = vectors @ entry_vectors(model, lesson.phrases).T
            far = fit_images(learned).distances(vectors)
            return {"cosines": torch.from_numpy(scores), "distances": torch.from_numpy(far)}

        stage = stages(f"judging {name}", 0)
        if stage.is_done:
            stages(name, steps(len(rows)))
        outcome = stage.once(judge)
        cosines[held] = outcome["cosines"].numpy()
        distances[held] = outcome["distances"].numpy()
        organs = {tiles[i].organ for i in rows}
        seen[held] = [tiles[i].organ in organs for i in held]
        taught[held] = true[rows].any(axis=0)
    return FoldPredictions(cosines, distances, seen, taught)


# The shares of known things, unseen in learning, that should be called known.
# Fewer of phrases: most are worded as they were learned, and a diagnosis that was never learned but
# is called known is worse than a wording that is refused.
KEPT_IMAGES, KEPT_PHRASES = 0.96, 0.85

# Not part of the model: what decisions are fitted on, so that this needs no second training.
HELD_OUT = "held_out.npz"

_SCOPED = 1500  # tiles that say what usual ones are like, run through the tower as it is written
_HAIR = 1e-6  # so that what lies on a limit is known
_CALM = 1e-6  # keeps a curve from becoming a step where two heaps do not touch

Trials = tuple[FoldPredictions, FoldPredictions]  # by case, and by laboratory


def write_towers(
    folder: Path,
    image: ImageTowerModel,
    text: PhraseTower,
    tokenizer: Any,
    tokens_of: Callable[[Sequence[str]], list[list[int]]],
    tokens: int,
    lesson: TileDataset,
) -> Vectors:
    """Write towers and what they know; the meaning of each wording comes back."""
    # What is known are entries, their wordings, and what usual images are like.
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
    wordings = [(phrase, place) for place, entry in enumerate(entries) for phrase in entry.phrases]
    return [phrase for phrase, _ in wordings], np.array([place for _, place in wordings], np.int64)


def write_limits(
    folder: Path, lesson: TileDataset, trials: Trials, meanings: Vectors, **described: Any
) -> dict[str, Any]:
    """Write the manifest, with limits and curves from what was held out; its scores."""
    # `described` are what the manifest says besides.
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
    decisions = None
    if len(known := told_organs(lesson.tiles)) > 1:  # with fewer there is nothing to decide
        laboratories = {tile.laboratory for tile in lesson.tiles}
        cases = {tile.case for tile in lesson.tiles}
        held_out = [one.scored(lesson, only_seen=False) for one in trials[: len(laboratories)]]
        measured_on = f"{len(cases)} cases of {len(laboratories)} laboratories, held out by both"
        decisions = fit_decisions(held_out, known, "", measured_on)
    manifests.GroundingManifest(
        files={file: hash_of(folder / file) for file in manifests.FILES},
        image=manifests.ImageTowerSpec(size=SIDE, mean=MEAN, std=STD),
        scope=limits,
        calibrations=curves,
        decisions=decisions,
        **described,
    ).write(folder)
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


class PhraseTrial(NamedTuple):
    """Likeness of wordings to the rest of the bank, when they are skipped of it."""

    known: Array  # only the wording is skipped: the bank has its entry in other words
    unknown: Array  # all that says the same entry is skipped: as if it had never been learned


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
