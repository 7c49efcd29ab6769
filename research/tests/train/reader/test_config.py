"""The YAML file of a reader's training: what it may say, and what is said of what it may not."""

from pathlib import Path

import pytest

from histoeval.errors import SettingError
from histoeval.io.settings_files import read_settings
from histoeval_research.train.reader.config import ReaderSettings
from tests.support.paths import EXAMPLES

EXAMPLES = EXAMPLES / "train"

CORPORA = "train: train.jsonl\ndev: dev.jsonl\nencoder: some/encoder\n"
STEP = "{epochs: 1, batch: 2, rate: 1e-3}"
FIT = f"{CORPORA}fit: {STEP}\n"
TAUGHT = (
    f"teacher: some/teacher\nunlabelled: [pool.jsonl]\nteach: {STEP}\ndistil: {STEP}\n" + CORPORA
)


def settings_in(folder: Path, text: str, *changes: str) -> ReaderSettings:
    file = folder / "config.yaml"
    file.write_text(text, "utf-8")
    return read_settings(file, ReaderSettings, changes)


def test_a_file_of_texts_can_be_named_alone_or_with_all_that_is_to_be_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "[a.txt, {file: b.csv, text: answer, id: case, sample: 5, words: [100], least: 0}]"
    alone, told = settings_in(tmp_path, f"{FIT}adapt: {STEP}\nunlabelled: {more}\n").unlabelled
    assert (alone.file, alone.text, alone.sample) == (tmp_path / "a.txt", None, None)
    assert (told.file, told.text, told.id) == (tmp_path / "b.csv", "answer", "case")
    assert (told.sample, told.words, told.least) == (5, (100,), 0)
    assert alone.exclude_reports_of_dev
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (typed,) = settings_in(tmp_path, TAUGHT, "unlabelled=[mine.jsonl]").unlabelled
    assert typed.file == tmp_path / "elsewhere" / "mine.jsonl"


def without(step: str) -> str:
    return "\n".join(line for line in TAUGHT.splitlines() if not line.startswith(f"{step}:"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CORPORA, "nothing is learned"),
        *((without(step), f"{step} must be given too") for step in ("unlabelled", "teach")),
        (without("distil"), "distil must be given too"),
        (f"{FIT}adapt_teacher: {STEP}\n", "no teacher for adapt_teacher:"),
        (f"{FIT}teach: {STEP}\n", "no teacher for teach:"),
        (f"{FIT}distil: {STEP}\n", "no teacher for distil:"),
        (f"{FIT}adapt: {STEP}\n", "name files with `unlabelled`"),
        (f"{FIT}unlabelled: [a.txt]\n", "no step reads the unlabelled"),
        (TAUGHT.replace("{epochs", "{seeds: [1, 2, 1], epochs", 1), "names a seed twice"),
        (f"{FIT}windows: {{token: 99}}\n", "no setting windows.token (did you mean 'tokens'?)"),
    ],
)
def test_steps_that_do_not_go_together_are_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        settings_in(tmp_path, text)
    assert said in str(refused.value)
