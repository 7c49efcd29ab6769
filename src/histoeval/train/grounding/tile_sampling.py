"""How often each tile is drawn in a training."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from histoeval.evaluate.tile_labels import LabelledTile


def weights_of(tiles: Sequence[LabelledTile]) -> npt.NDArray[np.float64]:
    """How often each tile is drawn: no case, and in no organ a behaviour, outweighs the others."""
    counts: dict[object, int] = defaultdict(int)
    for tile in tiles:
        counts[tile.organ, tile.concept, tile.stain_kind] += 1
    weights = np.array([counts[t.organ, t.concept, t.stain_kind] ** -0.5 for t in tiles])
    sums: dict[object, float] = defaultdict(float)
    for tile, weight in zip(tiles, weights, strict=True):
        sums[tile.organ, tile.behaviour] += weight
    factors = [_balance(tile, sums) for tile in tiles]
    weights = weights * np.array(factors)
    return np.asarray(weights / weights.sum(), np.float64)


def _balance(tile: LabelledTile, sums: Mapping[object, float]) -> float:
    """Up to three times as often where an organ is mostly of the other behaviour."""
    if tile.organ is None or tile.behaviour is None:
        return 0.3
    other = {"benign": "malignant", "malignant": "benign"}[tile.behaviour]
    share = sums.get((tile.organ, other), 0.0) / sums[tile.organ, tile.behaviour]
    return min(3.0, max(1.0, share))
