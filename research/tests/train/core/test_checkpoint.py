"""A stage that was stopped takes the very steps of one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import ModelError
from histoeval.evaluate.tile_labels import LabelledTile, entries_of, targets_of
from histoeval_research.train.core import loop
from histoeval_research.train.core.loop import Checkpoint, TrainingStage
from histoeval_research.train.grounding import learn as grounding
from histoeval_research.train.grounding.config import (
    AugmentationSettings,
    Distillation,
    LoopSettings,
)
from histoeval_research.train.grounding.learn import TileDataset, distil, learn
from histoeval_research.train.grounding.model import ContrastiveModel, ImageTowerModel

pytestmark = pytest.mark.heavy

ROWS = [[1, 2], [2, 3, 4], [5], [3, 1], [4, 4, 2], [1, 5]]
HOW = Distillation(steps=11, batch=4, rate=0.05)
COURSE = LoopSettings(
    epochs=3, batch=4, together=2, average=0.5, rate=0.05, views=AugmentationSettings(grey=0.5)
)


class StoppedError(Exception):
    """Somebody has had enough."""


class Student(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Tokens to unit vectors, with some chance within."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(7)
        self.table = torch.nn.Embedding(6, 3)
        self.dropout = torch.nn.Dropout(0.3)

    def forward(self, tokens: Any, mask: Any) -> Any:
        vectors = self.dropout(self.table(tokens)) * mask[..., None]
        return torch.nn.functional.normalize(vectors.sum(dim=1) + 0.01, dim=-1)


class Trunk(torch.nn.Module):  # type: ignore[misc, name-defined]
    """What an image tower needs of a trunk, in as few weights as can be."""

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


def lesson() -> TileDataset:
    told = [(f"{n}", ("benign", "malignant")[n % 2], f"slide {n // 2}") for n in range(8)]
    tiles = [
        LabelledTile(key, "colon", None, behaviour, "H&E", slide, slide, "train")
        for key, behaviour, slide in told
    ]
    draws = torch.Generator().manual_seed(2)
    pixels = torch.randint(0, 255, (8, 3, 16, 16), generator=draws, dtype=torch.uint8)
    entries = entries_of(tiles)
    phrases = [torch.randn(len(e.phrases), 5, generator=draws) for e in entries]
    return TileDataset(
        pixels, tiles, torch.from_numpy(targets_of(tiles, entries)), entries, phrases
    )


def matcher() -> ContrastiveModel:
    torch.manual_seed(4)
    return ContrastiveModel(ImageTowerModel(Trunk(), 4), 5)


def stage_in(file: Path | None, last: int = 100) -> TrainingStage:
    def watch(step: int, steps: int, loss: float) -> None:
        if step >= last:
            raise StoppedError

    return TrainingStage(Checkpoint(file), watch, "a stage")


@pytest.fixture
def reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every step is reported, so that a run can be stopped at any."""
    monkeypatch.setattr(loop, "REPORT_EVERY", 1)


def same(one: Any, other: Any) -> bool:
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(name == its and torch.equal(a, b) for (name, a), (its, b) in pairs)


@pytest.mark.usefixtures("reported")
def test_names_that_were_stopped_are_learned_as_if_they_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grounding, "KEPT_EVERY", 3)
    alone, stopped = Student(), Student()
    likeness = distil(alone, ROWS, places, HOW)
    for last in (5, 8):
        with pytest.raises(StoppedError):
            distil(stopped, ROWS, places, HOW, stage=stage_in(tmp_path / "c.pt", last))
        stopped = Student()
        torch.rand(3)
    assert distil(stopped, ROWS, places, HOW, stage=stage_in(tmp_path / "c.pt")) == likeness
    assert same(alone, stopped)


@pytest.mark.usefixtures("reported")
def test_tiles_that_were_stopped_are_learned_as_if_they_had_not_been(tmp_path: Path) -> None:
    rows = range(8)
    alone = learn(matcher(), lesson(), rows, COURSE)
    with pytest.raises(StoppedError):
        learn(matcher(), lesson(), rows, COURSE, stage=stage_in(tmp_path / "c.pt", 4))
    kept = torch.load(tmp_path / "c.pt", weights_only=True)["running"]["a stage"]
    assert kept["steps"] == 2, "one epoch of two steps was finished, and a half"
    assert same(learn(matcher(), lesson(), rows, COURSE, stage=stage_in(tmp_path / "c.pt")), alone)


def test_the_outcome_of_a_finished_stage_is_found_and_its_state_is_gone(tmp_path: Path) -> None:
    stage = stage_in(tmp_path / "c.pt")
    stage.keep({"steps": 3})
    assert not stage.is_done
    stage.once(lambda: {"likeness": 0.5})
    again = Checkpoint(tmp_path / "c.pt")
    found = TrainingStage(again, name="a stage").once(lambda: pytest.fail("it is done"))
    assert found == {"likeness": 0.5}
    assert not TrainingStage(again, name="another").is_done
    assert again.running == {}


def test_stages_are_watched_as_one() -> None:
    seen: list[tuple[int, int]] = []
    checkpoint = Checkpoint()

    def watch(step: int, steps: int, loss: float) -> None:
        seen.append((step, steps))

    TrainingStage(checkpoint, watch, "one", 0, 30).report(10, 10, 0.5)
    TrainingStage(checkpoint, watch, "two", 10, 30).report(5, 20, 0.5)
    assert seen == [(10, 30), (15, 30)]


def test_what_was_kept_of_another_model_is_said_plainly(tmp_path: Path) -> None:
    stage_in(tmp_path / "c.pt").keep({"model": {}})
    with pytest.raises(ModelError, match=r"c\.pt cannot be used: it is of another model"):
        distil(Student(), ROWS, places, HOW, stage=stage_in(tmp_path / "c.pt"))
