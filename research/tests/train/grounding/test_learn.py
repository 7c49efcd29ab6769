"""How a grounding model learns: stopped or not the same, and how often tiles are drawn."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from histoeval.evaluate.tile_labels import LabelledTile, entries_of, targets_of
from histoeval_research.train.core import loop
from histoeval_research.train.core.loop import Checkpoint, TrainingStage
from histoeval_research.train.grounding import learn as grounding
from histoeval_research.train.grounding.config import (
    AugmentationSettings,
    Distillation,
    LoopSettings,
)
from histoeval_research.train.grounding.learn import TileDataset, distil, learn, shares_of
from histoeval_research.train.grounding.model import ContrastiveModel, ImageTowerModel
from histoeval_research.train.grounding.train import averaged

pytestmark = pytest.mark.heavy

ROWS = [[1, 2], [2, 3, 4], [5], [3, 1], [4, 4, 2], [1, 5]]
HOW = Distillation(steps=11, batch=4, rate=0.05)
COURSE = LoopSettings(
    epochs=3, batch=4, together=2, average=0.5, rate=0.05, views=AugmentationSettings(grey=0.5)
)


class Student(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.table = torch.nn.Embedding(6, 3)
        self.dropout = torch.nn.Dropout(0.3)

    def forward(self, tokens: Any, mask: Any) -> Any:
        vectors = self.dropout(self.table(tokens)) * mask[..., None]
        return torch.nn.functional.normalize(vectors.sum(dim=1) + 0.01, dim=-1)


class Trunk(torch.nn.Module):  # type: ignore[misc, name-defined]
    width = 3

    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList([torch.nn.Linear(3, 3)])
        self.norm = torch.nn.LayerNorm(3)

    def forward(self, pixels: Any) -> Any:
        tokens = pixels.flatten(2).transpose(1, 2)[:, :4]
        return self.norm(self.blocks[0](tokens))


def places(chosen: Sequence[int]) -> Any:
    drawn = torch.randn(len(ROWS), 3, generator=torch.Generator().manual_seed(1))
    return torch.nn.functional.normalize(drawn[list(chosen)], dim=-1)


def tile(
    concept: str | None, behaviour: str | None, key: str = "k", slide: str = "s"
) -> LabelledTile:
    return LabelledTile(key, "colon", concept, behaviour, "H&E", slide, slide, "train")


def lesson() -> TileDataset:
    tiles = [
        tile(None, ("benign", "malignant")[n % 2], f"{n}", f"slide {n // 2}") for n in range(8)
    ]
    draws = torch.Generator().manual_seed(2)
    pixels = torch.randint(0, 255, (8, 3, 16, 16), generator=draws, dtype=torch.uint8)
    entries = entries_of(tiles)
    phrases = [torch.randn(len(e.phrases), 5, generator=draws) for e in entries]
    targets = torch.from_numpy(targets_of(tiles, entries))
    return TileDataset(pixels, tiles, targets, entries, phrases)


def model() -> ContrastiveModel:
    torch.manual_seed(4)
    return ContrastiveModel(ImageTowerModel(Trunk(), 4), 5)


@pytest.fixture
def every_step_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run can be stopped at any step."""
    monkeypatch.setattr(loop, "REPORT_EVERY", 1)


def stage_in(file: Path, last: int = 100) -> TrainingStage:
    def watch(step: int, steps: int, loss: float) -> None:
        if step >= last:
            raise KeyboardInterrupt

    return TrainingStage(Checkpoint(file), watch, "a stage")


def same(one: Any, other: Any) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(name == its and torch.equal(a, b) for (name, a), (its, b) in pairs)


@pytest.mark.usefixtures("every_step_reported")
def test_names_that_were_stopped_are_learned_as_if_they_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grounding, "KEPT_EVERY", 3)
    alone, stopped = Student(), Student()
    likeness = distil(alone, ROWS, places, HOW)
    for last in (5, 8):
        with pytest.raises(KeyboardInterrupt):
            distil(stopped, ROWS, places, HOW, stage=stage_in(tmp_path / "c.pt", last))
        stopped = Student()
        torch.rand(3)
    assert distil(stopped, ROWS, places, HOW, stage=stage_in(tmp_path / "c.pt")) == likeness
    assert same(alone, stopped)


@pytest.mark.usefixtures("every_step_reported")
def test_tiles_that_were_stopped_are_learned_as_if_they_had_not_been(tmp_path: Path) -> None:
    rows, file = range(8), tmp_path / "c.pt"
    alone = learn(model(), lesson(), rows, COURSE)
    with pytest.raises(KeyboardInterrupt):
        learn(model(), lesson(), rows, COURSE, stage=stage_in(file, 4))
    stored = torch.load(file, weights_only=True)["running"]["a stage"]
    assert stored["steps"] == 2, "one epoch of two steps was finished, and a half"
    assert same(learn(model(), lesson(), rows, COURSE, stage=stage_in(file)), alone)


def test_no_large_case_drowns_a_small_one_and_what_is_rare_counts_three_times_at_most() -> None:
    shares = shares_of([tile("a", "benign")] * 100 + [tile("b", "malignant")] * 25)
    assert shares.sum() == pytest.approx(1)
    assert shares[-1] > shares[0]
    assert shares[:100].sum() == pytest.approx(shares[100:].sum()), "both behaviours alike"
    shares = shares_of([*(tile(f"b{i}", "benign") for i in range(50)), tile("m", "malignant")])
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
