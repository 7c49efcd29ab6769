"""The steps of a reader's training: what each does, what is kept of it, and how it goes on."""

import json
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from research.tests.support.reader_corpus import KNOWN, Bench, calm_copy, write_bench

from benchmarks.random_models import ModelFolders
from histoeval.errors import ModelError
from histoeval.reader.windowed import Window
from histoeval_research.train.core.encoder import load_encoder
from histoeval_research.train.core.loop import Checkpoint, TrainingSite
from histoeval_research.train.core.model_folder import TrainingStep
from histoeval_research.train.reader import train as reader_training
from histoeval_research.train.reader.config import ReaderSettings
from histoeval_research.train.reader.examples import gold_examples, load_examples, part_of
from histoeval_research.train.reader.model import STATE
from histoeval_research.train.reader.train import ReaderTraining
from tests.support.tiny_corpus import passage

pytestmark = pytest.mark.heavy

STEPS = ["adapt-student", "adapt-teacher", "teacher-1", "teacher-2", "windows", "distil", "fit"]


@pytest.fixture(scope="module")
def teacher_encoder(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another encoder with the same tokenizer; this one has dropout."""
    return Path(shutil.copytree(tiny_models.entities, tmp_path_factory.mktemp("t") / "teacher"))


@pytest.fixture(scope="module")
def bench(
    plain_encoder: Path, teacher_encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Bench:
    return write_bench(tmp_path_factory.mktemp("bench"), plain_encoder, teacher_encoder)


def course_of(bench: Bench, work: Path, **changes: Any) -> ReaderTraining:
    settings = ReaderSettings.model_validate(bench.settings | changes)
    return ReaderTraining(settings, work, TrainingSite("cpu"))


class Taken(NamedTuple):
    course: ReaderTraining
    outcome: tuple[dict[str, Any], dict[str, Any]]
    told: list[str]

    def copy(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.course.work, folder / "work"))


@pytest.fixture(scope="module")
def taken(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    course = course_of(bench, tmp_path_factory.mktemp("taken") / "work")
    told: list[str] = []
    course.site = TrainingSite("cpu", tell=told.append)
    return Taken(course, course.take_steps(), told)


def weights_in(course: ReaderTraining) -> dict[str, Any]:
    folder = course.student.folder
    found: dict[str, Any] = torch.load(folder / STATE, weights_only=True)
    return found


def equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(torch.equal(one[name], other[name]) for name in one) and one.keys() == other.keys()


def test_all_steps_are_taken_in_their_order_and_scored(taken: Taken) -> None:
    scores, facts = taken.outcome
    assert list(scores) == ["teacher 1", "teacher 2", "all teachers", "student", "student, fitted"]
    assert facts["texts"] == 12
    assert facts["kept_out"] == 1, "the dev report"
    assert facts["windows"] == 12 * 2 + len(KNOWN)
    assert facts["different_tokens"] == facts["too_long"] == 0
    assert all((taken.course.work / name).is_dir() for name in STEPS)
    assert taken.told[0].startswith("teacher 1: exact ")
    assert "28 windows labelled" in taken.told


def stop_after(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill the run as soon as a step has come to its end."""
    write = TrainingStep._write

    def write_and_stop(self: TrainingStep, state: Mapping[str, Any]) -> None:
        write(self, state)
        if self.folder.name == name and state["done"]:
            raise KeyboardInterrupt

    monkeypatch.setattr(TrainingStep, "_write", write_and_stop)


def test_a_run_that_is_killed_after_steps_ends_with_the_same_weights(
    bench: Bench, taken: Taken, tmp_path: Path
) -> None:
    for name in ("teacher-1", "windows"):
        with pytest.MonkeyPatch.context() as patched:
            stop_after(name, patched)
            with pytest.raises(KeyboardInterrupt):
                course_of(bench, tmp_path / "work").take_steps()
    course = course_of(bench, tmp_path / "work")
    assert course.take_steps() == taken.outcome
    assert equal(weights_in(course), weights_in(taken.course))


def test_a_run_that_is_killed_between_epochs_ends_with_the_same_weights(
    bench: Bench, taken: Taken, tmp_path: Path
) -> None:
    keep, stopped = Checkpoint.keep, []

    def keep_and_stop(self: Checkpoint, running: Mapping[str, Any]) -> None:
        keep(self, running)
        name = self.path.parent.name if self.path is not None else ""
        if name in ("teacher-2", "fit") and name not in stopped:
            stopped.append(name)
            raise KeyboardInterrupt

    course = course_of(bench, taken.copy(tmp_path))
    for step in (course.teacher(2), course.fitted):
        shutil.rmtree(step.folder)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Checkpoint, "keep", keep_and_stop)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                course.take_steps()
            assert len(list(course.work.glob("*/checkpoint.pt"))) == 1
        course.take_steps()
    assert stopped == ["teacher-2", "fit"]
    assert not list(course.work.glob("*/checkpoint.pt"))
    assert equal(weights_in(course), weights_in(taken.course))


def times(course: ReaderTraining) -> dict[str, int]:
    return {step.parent.name: step.stat().st_mtime_ns for step in course.work.glob("*/step.json")}


def test_only_what_depends_on_a_changed_setting_is_done_again(
    bench: Bench, taken: Taken, tmp_path: Path
) -> None:
    changed = course_of(bench, taken.copy(tmp_path), seed=5)
    changed.take_steps()
    before = times(taken.course)
    again = {name for name, time in times(changed).items() if time != before[name]}
    assert again == {"distil", "fit", "scores-student", "scores-fitted"}
    assert not equal(weights_in(changed), weights_in(taken.course))


def test_a_teacher_can_be_added_to_those_that_are_there(
    bench: Bench, taken: Taken, tmp_path: Path
) -> None:
    three = bench.settings["teach"] | {"seeds": [1, 2, 3]}
    more = course_of(bench, taken.copy(tmp_path), teach=three, fit=None)
    more.take_steps()
    before, after = times(taken.course), times(more)
    assert {name for name in after if after[name] != before.get(name)} == {
        "teacher-3",
        "windows",
        "distil",
        *("scores-teacher-3", "scores-all-teachers", "scores-student"),
    }


def test_windows_are_labelled_in_parts_and_finished_parts_are_kept(
    bench: Bench, taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_training, "PART", 10)
    course = course_of(bench, taken.copy(tmp_path), windows={"words": [20, 30], "most": 1})
    course.labelled.run()
    files = sorted(course.labelled.folder.glob("part-*.npz"))
    parts = [load_examples(file) for file in files]
    assert [len(part) for part in parts] == [10, 6]
    files[1].unlink()
    record = course.labelled.folder / "step.json"
    record.write_text(json.dumps({"identity": course.labelled.identity, "done": False}), "utf-8")
    kept = files[0].stat().st_mtime_ns
    course.labelled.run()
    assert files[0].stat().st_mtime_ns == kept
    for one, other in zip(parts[1], load_examples(files[1]), strict=True):
        assert np.array_equal(one.tokens, other.tokens)
        assert np.array_equal(one.tag_shares, other.tag_shares)  # type: ignore[arg-type]


def one_after_the_other(act: Callable[..., object], jobs: Iterable[Any], most: int) -> None:
    """Stands for processes that finish in another order."""
    for job in reversed(list(jobs)):
        act(job)


@pytest.mark.release
def test_teachers_trained_at_once_are_those_trained_one_by_one(
    bench: Bench, taken: Taken, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = bench.settings["teach"] | {"at_once": 2}
    course = course_of(bench, tmp_path / "work", teach=two)
    stop_after("scores-teacher-1", monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        course.take_steps()
    for one, other in zip(taken.course.teachers, course.teachers, strict=True):
        assert one.identity == other.identity
        assert other.is_done, "both were trained before the first was scored"
        state, same = (torch.load(step.folder / STATE, weights_only=True) for step in (one, other))
        assert all(torch.allclose(state[name], same[name], atol=1e-3) for name in state)
    monkeypatch.undo()
    monkeypatch.setattr(reader_training, "PART", 10)
    monkeypatch.setattr(reader_training, "together", one_after_the_other)
    assert course.labelled.run()["windows"] == taken.outcome[1]["windows"]
    labelled, same_windows = (
        [e for file in sorted(c.labelled.folder.glob("*.npz")) for e in load_examples(file)]
        for c in (taken.course, course)
    )
    for before, after in zip(labelled, same_windows, strict=True):
        assert np.array_equal(before.tokens, after.tokens), "in the same order"


def test_encoders_that_cut_texts_differently_are_refused(
    bench: Bench, plain_encoder: Path, tmp_path: Path
) -> None:
    other = calm_copy(plain_encoder, tmp_path / "other")
    file = other / "tokenizer.json"
    content = json.loads(file.read_text("utf-8"))
    content["pre_tokenizer"] = {"type": "Whitespace"}
    content["model"]["vocab"] = {
        word if len(word) < 4 or word.startswith("[") else f"{word}!": number
        for word, number in content["model"]["vocab"].items()
    }
    file.write_text(json.dumps(content), "utf-8")
    course = course_of(bench, tmp_path / "work", teacher=str(other), adapt_teacher=None)
    with pytest.raises(ModelError, match="other tokens by the student"):
        course.take_steps()


def test_a_long_passage_is_learned_in_windows_with_all_its_entities(plain_encoder: Path) -> None:
    marked = " ".join(f"The [D:carcinoma] of the [S:left breast] is {n} cm." for n in range(60))
    links = [(2 * n, 2 * n + 1) for n in range(60)]
    encoder = load_encoder(str(plain_encoder), 300, "cpu")
    examples = gold_examples([passage("long", marked, *links)], encoder)
    assert len(examples) > 1
    assert max(len(example.tokens) for example in examples) <= 300
    assert sum(len(example.spans) for example in examples) >= 120
    assert sum(int(example.related.sum()) for example in examples) >= 60


def test_a_window_shows_whole_entities_and_relations_between_them() -> None:
    given = passage("p", "[D:Carcinoma] of [S:breast]. [D:Tumour] of [S:lung].", (0, 1), (2, 3))
    start = given.text.index("Tumour")
    part = part_of(given.content, Window(start, len(given.text), start, len(given.text)))
    assert [entity.text for entity in part.entities] == ["Tumour", "lung"]
    assert [(relation.head, relation.tail) for relation in part.relations] == [(0, 1)]
    assert part.text == "Tumour of lung."


def test_an_encoder_that_reads_too_little_at_once_is_refused(
    bench: Bench, plain_encoder: Path, tmp_path: Path
) -> None:
    short = calm_copy(plain_encoder, tmp_path / "short")
    import transformers

    config = transformers.AutoConfig.from_pretrained(plain_encoder, max_position_embeddings=64)
    transformers.AutoModel.from_config(config).save_pretrained(short)
    with pytest.raises(ModelError, match="reads 64 tokens at once; a reader needs 258"):
        course_of(bench, tmp_path / "work", teacher=str(short), adapt_teacher=None).teacher(1).run()
