"""The YAML file of a reader's training: what it may say, and what is said of what it may not."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("yaml")

from histoeval.errors import SettingError
from histoeval.io.settings_files import read_settings
from histoeval_research.train.reader.config import ReaderSettings
from tests.support.paths import EXAMPLES

pytestmark = pytest.mark.heavy

EXAMPLES = EXAMPLES / "train"

CORPORA = "train: train.jsonl\ndev: dev.jsonl\nencoder: some/encoder\n"
STEP = "{epochs: 1, batch: 2, rate: 1e-3}"
TAUGHT = (
    f"teacher: some/teacher\nunlabelled: [pool.jsonl]\nteach: {STEP}\ndistil: {STEP}\n" + CORPORA
)


def settings_in(folder: Path, text: str, *changes: str) -> ReaderSettings:
    file = folder / "config.yaml"
    file.write_text(text, "utf-8")
    return read_settings(file, ReaderSettings, changes)


def refusal(folder: Path, text: str, *changes: str) -> str:
    with pytest.raises(SettingError) as caught:
        settings_in(folder, text, *changes)
    return str(caught.value)


def test_a_file_of_texts_can_be_named_alone_or_with_all_that_is_to_be_known(tmp_path: Path) -> None:
    more = "[a.txt, {file: b.csv, text: answer, id: case, sample: 5, words: [100], least: 0}]"
    found = settings_in(tmp_path, f"{CORPORA}adapt: {STEP}\nunlabelled: {more}\nfit: {STEP}\n")
    alone, told = found.unlabelled
    assert (alone.file, alone.text, alone.sample) == (tmp_path / "a.txt", None, None)
    assert (told.file, told.text, told.id) == (tmp_path / "b.csv", "answer", "case")
    assert (told.sample, told.words, told.least) == (5, (100,), 0)
    assert alone.exclude_reports_of_dev


def test_files_on_the_command_line_are_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    found = settings_in(tmp_path, TAUGHT, "unlabelled=[mine.jsonl]", "distil.epochs=7")
    assert found.unlabelled[0].file == tmp_path / "elsewhere" / "mine.jsonl"
    assert found.distil is not None
    assert found.distil.epochs == 7


def test_nothing_to_learn_is_refused(tmp_path: Path) -> None:
    assert "nothing is learned" in refusal(tmp_path, CORPORA)


@pytest.mark.parametrize("left", ["unlabelled", "teach", "distil"])
def test_a_teacher_needs_texts_lessons_and_a_student(tmp_path: Path, left: str) -> None:
    kept = [line for line in TAUGHT.splitlines() if not line.startswith(f"{left}:")]
    said = refusal(tmp_path, "\n".join(kept))
    assert f"{left} must be given too" in said


@pytest.mark.parametrize("step", ["adapt_teacher", "teach", "distil"])
def test_steps_of_a_teacher_are_refused_without_one(tmp_path: Path, step: str) -> None:
    said = refusal(tmp_path, f"{CORPORA}fit: {STEP}\n{step}: {STEP}\n")
    assert f"no teacher for {step}:" in said


def test_adaptation_needs_texts_and_texts_need_a_use(tmp_path: Path) -> None:
    assert "name files with `unlabelled`" in refusal(
        tmp_path, f"{CORPORA}fit: {STEP}\nadapt: {STEP}\n"
    )
    assert "no step reads the unlabelled" in refusal(
        tmp_path, f"{CORPORA}fit: {STEP}\nunlabelled: [a.txt]\n"
    )


def test_one_teacher_does_not_count_as_two(tmp_path: Path) -> None:
    assert "names a seed twice" in refusal(tmp_path, TAUGHT, "teach.seeds=[1, 2, 1]")


def test_a_misspelt_setting_is_named_with_what_was_meant(tmp_path: Path) -> None:
    said = refusal(tmp_path, f"{CORPORA}fit: {STEP}\nwindows: {{token: 99}}\n")
    assert "there is no setting windows.token" in said
    assert "did you mean 'tokens'?" in said


def test_the_shipped_reader_has_the_recipe_it_was_made_with() -> None:
    found = read_settings(EXAMPLES / "reader.yaml", ReaderSettings)
    assert found.adapt is not None
    assert found.adapt_teacher is not None
    assert found.teach is not None
    assert found.distil is not None
    assert (found.adapt.epochs, found.adapt.rate, found.adapt.head_rate) == (6, 3e-4, 1.5e-3)
    assert (found.adapt_teacher.epochs, found.adapt_teacher.rate) == (3, 1e-4)
    assert found.teach.seeds == (1, 2, 3, 4, 5)
    assert (found.teach.epochs, found.teach.batch, found.teach.warm_up) == (15, 16, 0.08)
    assert (found.distil.epochs, found.distil.batch, found.distil.rate) == (10, 64, 5e-4)
    assert found.fit is None
    assert found.seed == 2


def test_the_small_example_needs_annotation_alone() -> None:
    found = read_settings(EXAMPLES / "reader_small.yaml", ReaderSettings)
    assert found.teacher is None
    assert not found.unlabelled
    assert found.fit is not None
