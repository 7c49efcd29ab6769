"""Steps that are kept: done once, gone on with, and begun anew when what they depend on changes."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest

from histoeval.errors import InputError, OutputError
from histoeval_research.train.core.loop import CHECKPOINT
from histoeval_research.train.core.model_folder import ModelFolder, TrainingStep, by_name


class Counted:
    """Something to do that counts how often it was done, and may fail."""

    def __init__(self) -> None:
        self.times = 0
        self.seen: list[str] = []
        self.fails = False

    def __call__(self, step: TrainingStep) -> dict[str, int]:
        self.times += 1
        self.seen = sorted(file.name for file in step.folder.iterdir())
        for name in ("half.bin", CHECKPOINT):
            (step.folder / name).write_bytes(b"half")
        if self.fails:
            raise KeyboardInterrupt
        return {"times": self.times}


def test_a_step_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    act = Counted()
    step = TrainingStep(tmp_path / "work" / "adapt", {"rate": 1}, act)
    assert not step.is_done
    assert step.run() == {"times": 1}
    assert TrainingStep(tmp_path / "work" / "adapt", {"rate": 1}, act).run() == {"times": 1}
    assert step.is_done
    assert act.times == 1
    assert not (step.folder / CHECKPOINT).exists()


def test_a_stopped_step_finds_what_it_left(tmp_path: Path) -> None:
    act = Counted()
    act.fails = True
    step = TrainingStep(tmp_path / "adapt", {}, act)
    with pytest.raises(KeyboardInterrupt):
        step.run()
    assert not step.is_done
    act.fails = False
    step.run()
    assert act.seen == [CHECKPOINT, "half.bin", "step.json"]


def test_a_step_with_another_request_begins_with_nothing(tmp_path: Path) -> None:
    act = Counted()
    TrainingStep(tmp_path / "adapt", {"rate": 1}, act).run()
    changed = TrainingStep(tmp_path / "adapt", {"rate": 2}, act)
    assert not changed.is_done
    changed.run()
    assert act.seen == ["step.json"]
    assert not TrainingStep(tmp_path / "adapt", {"rate": 1}, act).is_done


def test_somebody_elses_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "adapt").mkdir()
    (tmp_path / "adapt" / "thesis.txt").write_text("years of work", "utf-8")
    with pytest.raises(OutputError, match="not of a training"):
        TrainingStep(tmp_path / "adapt", {}, Counted()).run()
    assert (tmp_path / "adapt" / "thesis.txt").exists()


def test_a_torn_record_is_named(tmp_path: Path) -> None:
    step = TrainingStep(tmp_path / "adapt", {}, Counted())
    step.run()
    (tmp_path / "adapt" / "step.json").write_text('{"iden', "utf-8")
    with pytest.raises(OutputError, match=r"step\.json cannot be read"):
        step.run()


def trained(folder: Path, seed: int = 1, *, overwrite: bool = False) -> dict[str, Any]:
    request = {"settings": {"seed": seed}, "data": {}}
    results = {"number": next(NUMBERS)}
    return ModelFolder(folder).fill(
        request, lambda *_: results, lambda _: "# A card", overwrite=overwrite
    )


NUMBERS = count()


def test_a_finished_model_is_found_another_refused_and_only_replaced_when_told(
    tmp_path: Path,
) -> None:
    first = trained(tmp_path / "model")
    assert trained(tmp_path / "model") == first
    with pytest.raises(OutputError, match=r"another training \(different: seed\)"):
        trained(tmp_path / "model", seed=9)
    assert trained(tmp_path / "model") == first
    assert trained(tmp_path / "model", seed=9, overwrite=True) != first
    assert {file.name for file in (tmp_path / "model").iterdir()} == {"README.md", "results.json"}


def test_a_training_killed_before_its_last_act_is_finished_by_the_next(tmp_path: Path) -> None:
    first = trained(tmp_path / "model")
    (tmp_path / "model").rename(tmp_path / "model.part")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / CHECKPOINT).write_bytes(b"of no use any more")
    assert trained(tmp_path / "model") == first
    assert [folder.name for folder in tmp_path.iterdir()] == ["model"]
    assert not (tmp_path / "model" / CHECKPOINT).exists()


def test_overwriting_restarts_a_training_that_was_stopped(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / CHECKPOINT).write_bytes(b"of other settings")
    trained(tmp_path / "model", overwrite=True)
    assert not (tmp_path / "model" / CHECKPOINT).exists()


@pytest.mark.parametrize("overwrite", [False, True])
def test_overwriting_never_touches_what_is_not_of_a_training(
    tmp_path: Path, overwrite: bool
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work", "utf-8")
    with pytest.raises(OutputError, match="not of a training"):
        trained(tmp_path, overwrite=overwrite)
    assert (tmp_path / "thesis.txt").exists()


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="same name"):
        by_name([Path("a/names.jsonl"), None, Path("b/names.jsonl")])
