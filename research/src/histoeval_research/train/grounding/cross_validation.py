"""Grouped cross-validation of a grounding model: predictions for tiles that it has not learned.

Twice: cases are dealt out to folds organ by organ and behaviour by behaviour, and each laboratory
is left out in turn. The scores, the calibration and the limits come from these predictions.
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
from histoeval_research.train.grounding.loop import TileDataset, embedded, entry_vectors
from histoeval_research.train.grounding.model import ContrastiveModel
from histoeval_research.train.grounding.scope import fit_images


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
        if (found := stage.outcome) is None:
            found = _judged(teach(name, rows), lesson, rows, held)
            stage.finish(found)
        else:
            stages(name, steps(len(rows)))
        cosines[held] = found["cosines"].numpy()
        distances[held] = found["distances"].numpy()
        organs = {lesson.tiles[i].organ for i in rows}
        seen[held] = [lesson.tiles[i].organ in organs for i in held]
        taught[held] = true[rows].any(axis=0)
    return FoldPredictions(cosines, distances, seen, taught)


def _judged(
    model: ContrastiveModel, lesson: TileDataset, rows: Sequence[int], held: Sequence[int]
) -> dict[str, Any]:
    """Cosines and distances of held-out tiles, by a model that has learned others."""
    usual = [i for i in rows if lesson.tiles[i].stain_kind == HE]
    vectors, learned = (
        embedded(model, lesson.pixels[torch.tensor(some).to(lesson.pixels.device)])
        for some in (held, usual)
    )
    cosines = vectors @ entry_vectors(model, lesson.phrases).T
    distances = fit_images(learned).distances(vectors)
    return {"cosines": torch.from_numpy(cosines), "distances": torch.from_numpy(distances)}
