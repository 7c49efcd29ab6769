"""Settings in YAML files: read, changed for one run, and refused in words for people."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import Field

pytest.importorskip("yaml")

from histoeval.errors import InputError, SettingError
from histoeval.io.settings_files import FilePath, ModelName, read_settings
from histoeval.report import Noun
from histoeval_research.train.hare_bench.config import NerSettings, RelationSettings, SelectSettings
from tests.support.paths import EXAMPLES

EXAMPLES = EXAMPLES / "train"


class Inner(Noun):
    rate: float = Field(1e-3, gt=0)
    batch: int = 4


class Outer(Noun):
    data: FilePath
    encoder: ModelName = "some/name"
    epochs: int = 2
    notes: str = ""
    inner: Inner = Inner()


def read(folder: Path, text: str, *overrides: str) -> Outer:
    file = folder / "settings.yaml"
    file.write_text(text, "utf-8")
    return read_settings(file, Outer, overrides)


def refusal(folder: Path, text: str, *overrides: str) -> str:
    with pytest.raises(SettingError) as refused:
        read(folder, text, *overrides)
    return str(refused.value)


def test_what_is_left_out_has_its_default(tmp_path: Path) -> None:
    found = read(tmp_path, "data: a.jsonl\n")
    assert (found.epochs, found.inner, found.encoder) == (2, Inner(), "some/name")


def test_numbers_that_yaml_takes_for_words_are_numbers(tmp_path: Path) -> None:
    found = read(tmp_path, "data: a\ninner: {rate: 5e-5}\n")
    assert found.inner.rate == 5e-5
    assert read(tmp_path, "data: a\n", "inner.rate=1e-5").inner.rate == 1e-5


def test_an_override_changes_one_setting_and_leaves_its_neighbours(tmp_path: Path) -> None:
    text = "data: a\nepochs: 3\ninner:\n  rate: 0.5\n  batch: 8\n"
    found = read(tmp_path, text, "inner.batch=16", "epochs=1", "epochs=5")
    assert (found.inner.rate, found.inner.batch, found.epochs) == (0.5, 16, 5)
    assert read(tmp_path, "data: a", "inner.batch=2").inner == Inner(batch=2)
    assert read(tmp_path, "data: a", "notes='a = b'").notes == "a = b"


def test_files_are_named_from_where_their_name_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, here = tmp_path / "settings", tmp_path / "here"
    for folder in (settings, here):
        (folder / "encoder").mkdir(parents=True)
    monkeypatch.chdir(here)
    found = read(settings, "data: ../a.jsonl\nencoder: encoder\n")
    assert found.data.resolve() == tmp_path / "a.jsonl"
    assert found.encoder == str(settings / "encoder")
    typed = read(settings, "data: b\n", "data=a.jsonl", "encoder=encoder")
    assert typed.data == here / "a.jsonl"
    assert typed.encoder == str(here / "encoder")


def test_a_whole_path_stays_and_a_name_on_the_hub_is_no_path(tmp_path: Path) -> None:
    found = read(tmp_path, f"data: {tmp_path / 'x'}\nencoder: owner/model\n")
    assert found.data == tmp_path / "x"
    assert found.encoder == "owner/model"
    assert read(tmp_path, "data: a", "encoder=owner/other").encoder == "owner/other"


def test_a_setting_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    said = refusal(tmp_path, "data: a\nepoch: 3\n")
    assert "settings.yaml: there is no setting epoch (did you mean 'epochs'?)" in said
    assert "data, encoder, epochs, notes, inner" in said
    said = refusal(tmp_path, "data: a\n", "inner.speed=3")
    assert "--set: there is no setting inner.speed; there are rate, batch" in said


def test_a_wrong_value_is_named_with_its_place_and_what_is_allowed(tmp_path: Path) -> None:
    said = refusal(tmp_path, "data: a\nepochs: many\ninner: {rate: 0}\n")
    assert "settings.yaml: epochs should be a valid integer" in said
    assert "and is 'many'" in said
    assert "inner.rate should be greater than 0 and is 0" in said
    assert "--set: epochs" in refusal(tmp_path, "data: a\n", "epochs=few")
    assert "the setting data is missing" in refusal(tmp_path, "")
    assert "inner should be" in refusal(tmp_path, "data: a\ninner: 3\n")


@pytest.mark.parametrize("override", ["epochs", "=3", "inner.=3", "epochs=[1"])
def test_an_override_must_say_something(tmp_path: Path, override: str) -> None:
    assert f"--set {override}" in refusal(tmp_path, "data: a\n", override)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"- a\n- b\n", "must hold settings"),
        (b"a: [1\nb: 2\n", r"is not YAML: line 2"),
        (b"a: \xff\n", "is not UTF-8, from byte 4 on"),
        (b"rate: 1\nseed: 2\nrate: 3\n", "line 3: rate stands twice, first in line 1"),
        (b"a: !!python/object:os.system x\n", "is not YAML"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused(
    tmp_path: Path, content: bytes, said: str
) -> None:
    file = tmp_path / "settings.yaml"
    file.write_bytes(content)
    with pytest.raises(InputError, match=said):
        read_settings(file, Outer)
    with pytest.raises(InputError, match="cannot read"):
        read_settings(tmp_path / "none.yaml", Outer)


def test_the_defaults_are_those_of_the_paper(tmp_path: Path) -> None:
    file = tmp_path / "least.yaml"
    file.write_text("encoder: e\ntrain: t\ndev: d\n", "utf-8")
    found = read_settings(file, RelationSettings)
    assert (found.rate, found.batch, found.epochs, found.tokens) == (5e-5, 4, 2, 512)
    assert (found.negatives, found.test_negatives, found.types) == (1, 3, "all")


@pytest.mark.parametrize(("name", "kind"), [("ner", NerSettings), ("relations", RelationSettings)])
def test_the_examples_say_what_is_so_anyway(
    name: str, kind: type[NerSettings] | type[RelationSettings]
) -> None:
    found = read_settings(EXAMPLES / f"{name}.yaml", kind)
    least = kind.model_validate({f: getattr(found, f) for f in ("encoder", "train", "dev")})
    assert found == least
    assert found.train == EXAMPLES / "train.jsonl"


def test_the_example_of_a_selection_says_what_is_so_anyway() -> None:
    found = read_settings(EXAMPLES / "select.yaml", SelectSettings)
    fields = ("encoders", "train", "dev")
    assert found == SelectSettings.model_validate({f: getattr(found, f) for f in fields})
    assert found.encoders["GatorTronS"] == "UFNLP/gatortronS"


def selection(folder: Path, encoders: str, *overrides: str) -> SelectSettings:
    file = folder / "select.yaml"
    file.write_text(f"train: t\ndev: d\nencoders: {encoders}\n", "utf-8")
    return read_settings(file, SelectSettings, overrides)


def test_encoders_may_be_a_list_and_are_named_by_their_last_part(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    found = selection(tmp_path, "[owner/large, small]")
    assert found.encoders == {"large": "owner/large", "small": str(tmp_path / "small")}


@pytest.mark.parametrize("encoders", ["[a/one, b/one]", "{a/b: c}", "{..: c}", "[]", "3"])
def test_encoders_without_a_name_of_their_own_are_refused(tmp_path: Path, encoders: str) -> None:
    with pytest.raises(SettingError, match=r"select\.yaml: encoders"):
        selection(tmp_path, encoders)


def test_a_seed_cannot_count_twice(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="names a seed twice"):
        selection(tmp_path, "[a]", "seeds=[1, 2, 1]")
