"""The mean of several trainings from one start."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the extra [train] is not installed")

from histoeval_research.train.grounding.train import averaged

pytestmark = pytest.mark.heavy


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
