"""A trained grounding model as the folder that is shipped, with the limits of what it knows.

Images are measured by how far their vector lies from those of the training, along the directions in
which these hardly vary (Mahalanobis); phrases by the cosine of their meaning with the nearest
wording that was learned. The scores, the calibration and both limits come from predictions for
tiles that a model has not learned, by grouped cross-validation, twice: cases are dealt out to folds
organ by organ and behaviour by behaviour, and each laboratory is left out in turn.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
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
from histoeval.evaluate.tile_labels import HE, SIDE, TRUE, LabelledTile, TileConcept
from histoeval.pathgls.grounding import builtin as manifests
from histoeval.pathgls.grounding.builtin import stain_scores
from histoeval.pathgls.grounding.decisions import Decisions
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.reader.manifest import hash_of
from histoeval.runtime.onnx import Session
from histoeval.runtime.threads import cores
from histoeval.statistics.regression import fit_logistic
from histoeval.view.terminal.evaluation import OTHERS
from histoeval_research.train.core.loop import TrainingStage
from histoeval_research.train.core.onnx_int8 import OnnxPart, token_part, write_parts
from histoeval_research.train.grounding.loop import TileDataset, embedded, entry_vectors
from histoeval_research.train.grounding.model import (
    MEAN,
    STD,
    ContrastiveModel,
    ImageTowerModel,
    PhraseTower,
)

_SHRINKAGE = 0.05
"""How much of the covariance is replaced by that of a ball, against chance directions."""

KEPT_IMAGES, KEPT_PHRASES = 0.96, 0.85
"""The shares of known things, unseen in learning, that should be called known.

Fewer of phrases: most are worded as they were learned, and a diagnosis that was never learned but
is called known is worse than a wording that is refused.
"""

Vectors = npt.NDArray[np.float32]


class WhiteningScope(NamedTuple):
    """A centre, and a matrix after which usual vectors have length 1."""

    centre: Vectors
    whitening: Vectors

    def distances(self, vectors: Vectors) -> Array:
        """How far each vector is from the usual ones."""
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


def wordings_of(entries: Sequence[TileConcept]) -> tuple[list[str], npt.NDArray[np.int64]]:
    """All wordings of the bank, and for each the place of its entry."""
    wordings = [(phrase, place) for place, entry in enumerate(entries) for phrase in entry.phrases]
    return [phrase for phrase, _ in wordings], np.array([place for _, place in wordings], np.int64)


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
    tried = np.array([entries[owner].group in ("concept", "organ") for owner in owners])
    alone = same.sum(axis=1) == 1
    known = cosines.max(axis=1)[tried & ~alone]
    unknown = np.where(_related(entries)[owners][:, owners], -1.0, cosines).max(axis=1)[tried]
    return PhraseTrial(known, unknown)


def _related(entries: Sequence[TileConcept]) -> npt.NDArray[np.bool_]:
    """Entries that share a wording, or of which one holds the name of the other."""
    words = [{phrase.lower() for phrase in entry.phrases} for entry in entries]
    table = np.eye(len(entries), dtype=bool)
    for one, first in enumerate(words):
        name = entries[one].name.lower()
        for other, second in enumerate(words):
            if first & second or any(name in phrase for phrase in second):
                table[one, other] = True
    return table


def threshold(values: Array, kept: float) -> float:
    """What this share of the values lies below."""
    return float(np.quantile(values, kept))


_CALM = 1e-6
"""Keeps a curve from becoming a step where two heaps do not touch."""


def fit_curves(found: ScoredTiles) -> dict[str, ClaimCalibration]:
    """A curve for each kind of claim, with true claims and decoys of the same weight."""
    kinds = dict.fromkeys(KINDS.values())
    claims = {k: claims_of(found, [g for g in CLAIMED if KINDS[g] == k]) for k in kinds}
    return {
        kind: fit_curve(some)
        for kind, some in claims.items()
        if some.true.any() and not some.true.all()
    }


def fit_curve(claims: ScoredClaims) -> ClaimCalibration:
    """The logistic curve by which true claims are likeliest true and decoys false."""
    weights = np.where(claims.true, 0.5 / claims.true.sum(), 0.5 / (~claims.true).sum())
    truth = claims.true.astype(np.float64)
    slope, offset = fit_logistic(claims.distances, truth, weights, ridge=_CALM)
    return ClaimCalibration(slope=slope, midpoint=-offset / slope)


@dataclass(frozen=True, slots=True)
class FoldPredictions:
    """What models predicted for tiles they had not learned."""

    cosines: Array
    """Tiles by entries."""
    distances: Array
    """How far each tile lies from those that its model had learned in H&E."""
    seen: npt.NDArray[np.bool_]
    """Whether the organ of a tile was among those that its model had learned."""
    taught: npt.NDArray[np.bool_]
    """For each tile which entries its model had learned of."""

    def stains(self, lesson: TileDataset) -> Array:
        """How much likelier another stain is than H&E, for each tile."""
        groups = [entry.group for entry in lesson.entries]
        return stain_scores(self.cosines, groups, [entry.name for entry in lesson.entries])

    def scored(self, lesson: TileDataset) -> ScoredTiles:
        """The tiles in H&E of organs that had been seen."""
        return self._of(lesson, [n for n in _usual(lesson) if self.seen[n]])

    def judged(self, lesson: TileDataset) -> ScoredTiles:
        """All tiles in H&E: those of organs that had not been seen, too."""
        return self._of(lesson, _usual(lesson))

    def _of(self, lesson: TileDataset, kept: list[int]) -> ScoredTiles:
        tiles = [lesson.tiles[i] for i in kept]
        return ScoredTiles(tiles, lesson.entries, self.cosines[kept], self.taught[kept])


def _usual(lesson: TileDataset) -> list[int]:
    """The tiles in H&E."""
    return [place for place, tile in enumerate(lesson.tiles) if tile.stain_kind == HE]


def folds_of(tiles: Sequence[LabelledTile], count: int, seed: int = 0) -> npt.NDArray[np.int64]:
    """The fold of each tile; all tiles of a case are in one."""
    kinds: dict[str, tuple[str, str]] = {}
    for tile in tiles:
        kinds.setdefault(tile.case, (str(tile.organ), str(tile.behaviour)))
    draws = np.random.default_rng(seed)
    cases = sorted(kinds, key=lambda case: (kinds[case], draws.random()))
    dealt = {case: place % count for place, case in enumerate(cases)}
    return np.array([dealt[tile.case] for tile in tiles], np.int64)


class Fold(NamedTuple):
    """The tiles that are learned, and those that are not."""

    name: str
    rows: list[int]
    held: list[int]


def case_folds(tiles: Sequence[LabelledTile], count: int) -> list[Fold]:
    """So many folds over all cases."""
    return _folds(folds_of(tiles, count), [f"fold {n + 1} of {count}" for n in range(count)])


def laboratory_folds(tiles: Sequence[LabelledTile]) -> list[Fold]:
    """One fold for each laboratory; none where there is only one."""
    names = sorted({tile.laboratory for tile in tiles})
    numbers = np.array([names.index(tile.laboratory) for tile in tiles], np.int64)
    return _folds(numbers, [f"without {name}" for name in names])


def _folds(numbers: npt.NDArray[np.int64], names: Sequence[str]) -> list[Fold]:
    found = [
        Fold(name, np.flatnonzero(numbers != n).tolist(), np.flatnonzero(numbers == n).tolist())
        for n, name in enumerate(names)
    ]
    return [fold for fold in found if fold.rows and fold.held]


Teach = Callable[[str, Sequence[int]], ContrastiveModel]
"""A model that has learned these rows in a stage of this name."""


def cross_validate(
    lesson: TileDataset,
    folds: Sequence[Fold],
    teach: Teach,
    stages: Callable[[str, int], TrainingStage],
    steps: Callable[[int], int],
) -> FoldPredictions:
    """Train a model for each fold on all other folds, and have it judge this one.

    What a finished fold gave is not computed again; its steps, by the number of tiles, count as
    taken.
    """
    cosines = np.zeros((len(lesson.tiles), len(lesson.entries)))
    distances = np.zeros(len(lesson.tiles))
    seen = np.zeros(len(lesson.tiles), bool)
    taught = np.zeros(cosines.shape, bool)
    true = (lesson.targets == TRUE).cpu().numpy()
    for name, rows, held in folds:
        stage = stages(f"judging {name}", 0)
        if stage.is_done:
            stages(name, steps(len(rows)))
        found = stage.once(partial(_judged, teach, name, lesson, rows, held))
        cosines[held] = found["cosines"].numpy()
        distances[held] = found["distances"].numpy()
        organs = {lesson.tiles[i].organ for i in rows}
        seen[held] = [lesson.tiles[i].organ in organs for i in held]
        taught[held] = true[rows].any(axis=0)
    return FoldPredictions(cosines, distances, seen, taught)


def _judged(
    teach: Teach, name: str, lesson: TileDataset, rows: Sequence[int], held: Sequence[int]
) -> dict[str, Any]:
    """Cosines and distances of held-out tiles, by a model that has learned others."""
    model = teach(name, rows)
    usual = [i for i in rows if lesson.tiles[i].stain_kind == HE]
    vectors, learned = (
        embedded(model, lesson.pixels[torch.tensor(some).to(lesson.pixels.device)])
        for some in (held, usual)
    )
    cosines = vectors @ entry_vectors(model, lesson.phrases).T
    distances = fit_images(learned).distances(vectors)
    return {"cosines": torch.from_numpy(cosines), "distances": torch.from_numpy(distances)}


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
    calibrations: Mapping[str, ClaimCalibration],
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
