"""How often tiles are drawn."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from histoeval.evaluate.tile_labels import LabelledTile
from histoeval_research.train.grounding.loop import weights_of

pytestmark = pytest.mark.heavy


def tile(concept: str, behaviour: str | None) -> LabelledTile:
    return LabelledTile("k", "colon", concept, behaviour, "H&E", "s", "c", "train")


def test_a_large_case_does_not_drown_a_small_one() -> None:
    weights = weights_of([tile("a", "benign")] * 100 + [tile("b", "malignant")] * 25)
    assert weights.sum() == pytest.approx(1)
    assert weights[-1] > weights[0]
    assert weights[:100].sum() == pytest.approx(weights[100:].sum()), "both behaviours alike"


def test_a_rare_behaviour_is_drawn_at_most_three_times_as_often() -> None:
    tiles = [tile(f"b{i}", "benign") for i in range(50)] + [tile("m", "malignant")]
    weights = weights_of(tiles)
    assert weights[-1] == pytest.approx(3 * weights[0])
