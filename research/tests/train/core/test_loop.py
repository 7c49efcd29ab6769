"""The training loop: seeded, and a stopped run goes on as if nothing had happened."""

from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

torch = pytest.importorskip("torch")

from histoeval.errors import ModelError, OutputError
from histoeval.progress import ignore
from histoeval_research.train.core.loop import Checkpoint, Schedule, TrainingStage, Watch, fit

pytestmark = pytest.mark.heavy

SCHEDULE = Schedule(epochs=4, batch=3, rate=0.05, warm_up=0.1)
SIZE = 10


def network() -> Any:
    torch.manual_seed(7)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Dropout(0.5), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )


def loss_of(model: Any, seen: list[list[int]]) -> Callable[[Sequence[int]], Any]:
    drawn = torch.Generator().manual_seed(1)
    inputs, wanted = (torch.randn(SIZE, n, generator=drawn) for n in (4, 1))

    def loss(positions: Sequence[int]) -> Any:
        seen.append(list(positions))
        return ((model(inputs[list(positions)]) - wanted[list(positions)]) ** 2).mean()

    return loss


def stage_in(file: Path | None = None, identity: str = "", watch: Watch = ignore) -> TrainingStage:
    return TrainingStage(Checkpoint(file, identity), watch)


def trained(
    seed: int = 3, stage: TrainingStage | None = None
) -> tuple[dict[str, Any], list[list[int]]]:
    model, seen = network(), list[list[int]]()
    fit(model, SIZE, loss_of(model, seen), SCHEDULE, seed=seed, stage=stage)
    assert not model.training
    return dict(model.state_dict()), seen


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one)


def stop_in_third_epoch(checkpoint: Path, identity: str = "") -> None:
    model, seen = network(), list[list[int]]()
    loss = loss_of(model, seen)

    def until(positions: Sequence[int]) -> Any:
        if len(seen) == 10:
            raise KeyboardInterrupt
        return loss(positions)

    with pytest.raises(KeyboardInterrupt):
        fit(model, SIZE, until, SCHEDULE, seed=3, stage=stage_in(checkpoint, identity))


def test_two_runs_are_equal_bit_for_bit_and_another_seed_is_another_run() -> None:
    first, seen = trained()
    torch.rand(5)
    assert same(first, trained()[0]), "whatever was drawn before"
    assert not same(first, trained(seed=4)[0])
    assert not same(first, dict(network().state_dict())), "something was learned"
    epochs = [[*chain(*seen[first : first + 4])] for first in range(0, 16, 4)]
    assert all(sorted(epoch) == list(range(SIZE)) for epoch in epochs), "every example once"
    assert len({tuple(epoch) for epoch in epochs}) == len(epochs) == SCHEDULE.epochs
    assert [len(batch) for batch in seen[:4]] == [3, 3, 3, 1]


def test_a_killed_run_that_goes_on_equals_one_that_was_left_alone(tmp_path: Path) -> None:
    checkpoint = tmp_path / "new" / "checkpoint.pt"
    stop_in_third_epoch(checkpoint)
    weights, seen = trained(stage=stage_in(checkpoint))
    assert len(seen) == 2 * 4, "two epochs were finished before"
    assert same(weights, trained()[0])
    assert [file.name for file in checkpoint.parent.iterdir()] == ["checkpoint.pt"]
    again, seen = trained(stage=stage_in(checkpoint))
    assert same(again, weights)
    assert not seen, "a finished run takes no more steps"


def test_a_run_with_other_data_or_settings_is_refused(tmp_path: Path) -> None:
    stop_in_third_epoch(tmp_path / "c.pt", identity="one")
    before = (tmp_path / "c.pt").read_bytes()
    with pytest.raises(OutputError, match="other data or settings"):
        stage_in(tmp_path / "c.pt", "another")
    assert (tmp_path / "c.pt").read_bytes() == before


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_torn_checkpoint_is_said_plainly(tmp_path: Path, share: float) -> None:
    checkpoint = tmp_path / "checkpoint.pt"
    stop_in_third_epoch(checkpoint)
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: int(share * len(whole))] or b"not one")
    with pytest.raises(ModelError, match=r"checkpoint\.pt cannot be used.*delete it"):
        stage_in(checkpoint)


def test_something_else_in_place_of_a_checkpoint_is_said_plainly(tmp_path: Path) -> None:
    for content in ({}, [1], "text", torch.zeros(2), {"identity": "", "epoch": 1}):
        torch.save(content, tmp_path / "c.pt")
        with pytest.raises(ModelError, match="cannot be used"):
            stage_in(tmp_path / "c.pt")
    (tmp_path / "c.pt").unlink()
    stop_in_third_epoch(tmp_path / "c.pt")
    other = torch.nn.Linear(4, 1)
    with pytest.raises(ModelError, match=r"c\.pt cannot be used: it is of another model"):
        fit(other, SIZE, loss_of(other, []), SCHEDULE, seed=3, stage=stage_in(tmp_path / "c.pt"))


def test_the_outcome_of_a_finished_stage_is_found_and_its_state_is_gone(tmp_path: Path) -> None:
    stage = TrainingStage(Checkpoint(tmp_path / "c.pt"), name="a stage")
    stage.keep({"steps": 3})
    assert not stage.is_done
    stage.once(lambda: {"likeness": 0.5})
    again = Checkpoint(tmp_path / "c.pt")
    found = TrainingStage(again, name="a stage").once(lambda: pytest.fail("it is done"))
    assert found == {"likeness": 0.5}
    assert not TrainingStage(again, name="another").is_done
    assert again.running == {}


def test_the_head_may_learn_at_a_rate_of_its_own() -> None:
    model = network()
    before = {name: weights.clone() for name, weights in model.state_dict().items()}
    schedule = SCHEDULE.model_copy(update={"rate": 1e-12, "decay": 0.0, "head_rate": 0.1})
    fit(model, SIZE, loss_of(model, []), schedule, seed=3, encoder="0.")
    moved = {n: float((w - before[n]).abs().max()) for n, w in model.state_dict().items()}
    assert moved["0.weight"] < 1e-9
    assert moved["3.weight"] > 1e-3


def test_those_who_watch_are_told_of_the_last_step_and_stages_are_watched_as_one() -> None:
    told: list[tuple[int, int, float]] = []
    trained(stage=stage_in(watch=lambda *news: told.append(news)))
    assert [(done, steps) for done, steps, _ in told] == [(10, 16), (16, 16)]
    assert all(loss > 0 for *_, loss in told)
    seen: list[tuple[int, int]] = []
    checkpoint = Checkpoint()

    def watch(step: int, steps: int, loss: float) -> None:
        seen.append((step, steps))

    TrainingStage(checkpoint, watch, "one", 0, 30).report(10, 10, 0.5)
    TrainingStage(checkpoint, watch, "two", 10, 30).report(5, 20, 0.5)
    assert seen == [(10, 30), (15, 30)]


@pytest.mark.parametrize("wrong", [{"epochs": 0}, {"rate": 0}, {"warm_up": 1}, {"speed": 3}])
def test_schedules_that_make_no_sense_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Schedule.model_validate({"epochs": 1, "batch": 1, "rate": 1, **wrong})
