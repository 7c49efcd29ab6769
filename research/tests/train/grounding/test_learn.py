"""How often tiles are drawn, and the mean of several trainings from one start."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from histoeval.evaluate.tile_labels import LabelledTile
from histoeval_research.train.grounding.learn import shares_of
from histoeval_research.train.grounding.train import averaged

pytestmark = pytest.mark.heavy


def tile(concept: str, behaviour: str | None) -> LabelledTile:
    return LabelledTile("k", "colon", concept, behaviour, "H&E", "s", "c", "train")


def test_a_large_case_does_not_drown_a_small_one() -> None:
    shares = shares_of([tile("a", "benign")] * 100 + [tile("b", "malignant")] * 25)
    assert shares.sum() == pytest.approx(1)
    assert shares[-1] > shares[0]
    assert shares[:100].sum() == pytest.approx(shares[100:].sum()), "both behaviours alike"


def test_a_rare_behaviour_is_drawn_at_most_three_times_as_often() -> None:
    tiles = [tile(f"b{i}", "benign") for i in range(50)] + [tile("m", "malignant")]
    shares = shares_of(tiles)
    assert shares[-1] == pytest.approx(3 * shares[0])


def test_weights_of_trainings_from_one_start_are_averaged() -> None:
    start = torch.nn.Linear(2, 1)
    before = start.weight.detach().clone()

    def train(nth: int, model: Any) -> Any:
        """Moves the weights by 0, 1 or 2."""
        assert torch.equal(model.weight, before), "each begins where the first began"
        with torch.no_grad():
            model.weight += nth
        return model

    assert torch.allclose(averaged(start, 3, train).weight, before + 1)
