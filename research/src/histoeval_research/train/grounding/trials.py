"""What grounding models predict for tiles they have not learned, by grouped cross-validation.

It is done twice: cases are dealt out to folds organ by organ and behaviour by behaviour, and each
laboratory is left out in turn. Images are measured by how far their vector lies from those of the
training, along the directions in which these hardly vary (Mahalanobis).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

from histoeval.evaluate.grounding_scores import Array, ScoredTiles
from histoeval.evaluate.tile_labels import HE, TRUE, LabelledTile
from histoeval.pathgls.grounding.builtin import stain_scores
from histoeval_research.train.core.loop import TrainingStage
from histoeval_research.train.grounding.learn import TileDataset, embedded, entry_vectors
from histoeval_research.train.grounding.model import ContrastiveModel

_SHRINKAGE = 0.05
"""How much of the covariance is replaced by that of a ball, against chance directions."""

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


def usual_rows(tiles: Sequence[LabelledTile]) -> list[int]:
    """The tiles in H&E."""
    return [place for place, tile in enumerate(tiles) if tile.stain_kind == HE]


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

    def scored(self, lesson: TileDataset, *, only_seen: bool = True) -> ScoredTiles:
        """The tiles in H&E; all of them, or those of organs that had been seen."""
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
    """One fold for each laboratory; none where there is only one."""
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
    """Train a model for each fold on all other folds, and have it judge this one.

    `teach` gives a model that has learned some rows in a stage of some name. What a finished fold
    gave is not computed again; its steps, by the number of tiles, count as taken.
    """
    tiles, pixels = lesson.tiles, lesson.pixels
    cosines = np.zeros((len(tiles), len(lesson.entries)))
    distances = np.zeros(len(tiles))
    seen = np.zeros(len(tiles), bool)
    taught = np.zeros(cosines.shape, bool)
    true = (lesson.targets == TRUE).cpu().numpy()
    for name, rows, held in folds:

        def judge(name: str = name, rows: list[int] = rows, held: list[int] = held) -> Any:
            """Cosines and distances of held-out tiles, by a model that has learned others."""
            model = teach(name, rows)
            usual = [i for i in rows if tiles[i].stain_kind == HE]
            vectors, learned = (
                embedded(model.image, pixels[torch.tensor(some).to(pixels.device)])
                for some in (held, usual)
            )
            found = vectors @ entry_vectors(model, lesson.phrases).T
            far = fit_images(learned).distances(vectors)
            return {"cosines": torch.from_numpy(found), "distances": torch.from_numpy(far)}

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
