"""YAML that people write: what it says, in which line, and what is refused."""

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from histoeval.errors import InputError, SettingError
from histoeval.io.settings_files import FilePath, ModelName, YamlFile, read_settings, read_yaml
from histoeval.report import Noun


def read(folder: Path, text: str | bytes) -> YamlFile:
    path = folder / "file.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_yaml(path, "the thing")


def test_every_key_and_item_has_its_line(tmp_path: Path) -> None:
    written = read(tmp_path, "a: 1\n\nb:\n  - x\n  - c: 2\n")
    assert written.content == {"a": 1, "b": ["x", {"c": 2}]}
    lines = [written.line_of(place) for place in (["a"], ["b"], ["b", 0], ["b", 1, "c"])]
    assert lines == [1, 3, 4, 5]


def test_what_is_not_written_has_the_line_of_what_is_around_it(tmp_path: Path) -> None:
    written = read(tmp_path, "a: 1\nb: {c: 2}\n")
    assert written.line_of(["b", "d", "e"]) == 2
    assert written.line_of(["z"]) is None
    assert written.line_of([]) is None


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(plain)
def test_what_is_read_is_what_yaml_reads(value: object) -> None:
    text = yaml.safe_dump(value, allow_unicode=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "read_text", lambda *_: text)
        assert read_yaml(Path("any.yaml")).content == yaml.safe_load(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: 2\na: 1\n", "line 3: a stands twice, first in line 1; keep one"),
        ("x:\n- {c: 1, c: 2}\n", r"line 2: x\.0\.c stands twice"),
        ("a: [1\n", "not YAML: line 2: expected"),
        ("when: 2026-13-45\n", "not YAML that can be used: month"),
        ("a: !python/object:os.system 1\n", "not YAML: line 1: could not determine"),
        (b"a: \xff\n", "not UTF-8, from byte 4 on"),
        ("[" * 5000, "not YAML"),
    ],
)
def test_unusable_yaml_has_a_line(tmp_path: Path, text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=rf"the thing .*file\.yaml.* {said}"):
        read(tmp_path, text)


def test_keys_that_are_taken_over_from_elsewhere_may_be_written_anew(tmp_path: Path) -> None:
    text = "usual: &usual {a: 1, b: 2}\nours:\n  <<: *usual\n  b: 3\n"
    assert read(tmp_path, text).content["ours"] == {"a": 1, "b": 3}


def test_names_that_stand_for_many_are_looked_at_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    began = time.monotonic()
    assert read(tmp_path, "\n".join(lines)).line_of(["a11"]) == 12
    assert time.monotonic() - began < 5


def test_an_empty_file_says_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, "# only words\n") == YamlFile(None, {})


class Inner(Noun):
    rate: float = Field(1e-3, gt=0)
    batch: int = 4


class Outer(Noun):
    data: FilePath
    encoder: ModelName = "some/name"
    epochs: int = 2
    notes: str = ""
    inner: Inner = Inner()


def settings_in(folder: Path, text: str, *overrides: str) -> Outer:
    file = folder / "settings.yaml"
    file.write_text(text, "utf-8")
    return read_settings(file, Outer, overrides)


def test_settings_have_defaults_and_an_override_leaves_its_neighbours(tmp_path: Path) -> None:
    least = settings_in(tmp_path, "data: a.jsonl\n")
    assert (least.epochs, least.inner, least.encoder) == (2, Inner(), "some/name")
    text = "data: a\nepochs: 3\ninner:\n  rate: 5e-5\n  batch: 8\n"
    found = settings_in(tmp_path, text, "inner.batch=16", "epochs=1", "epochs=5")
    assert (found.inner.rate, found.inner.batch, found.epochs) == (5e-5, 16, 5)
    assert settings_in(tmp_path, "data: a", "inner.rate=1e-5").inner == Inner(rate=1e-5)
    assert settings_in(tmp_path, "data: a", "notes='a = b'").notes == "a = b"


def test_where_names_of_files_begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings, here = tmp_path / "settings", tmp_path / "here"
    for folder in (settings, here):
        (folder / "encoder").mkdir(parents=True)
    monkeypatch.chdir(here)
    found = settings_in(settings, "data: ../a.jsonl\nencoder: encoder\n")
    assert found.data.resolve() == tmp_path / "a.jsonl"
    assert found.encoder == str(settings / "encoder")
    typed = settings_in(settings, "data: b\n", "data=a.jsonl", "encoder=encoder")
    assert (typed.data, typed.encoder) == (here / "a.jsonl", str(here / "encoder"))
    named = settings_in(settings, f"data: {tmp_path / 'x'}\nencoder: owner/model\n")
    assert (named.data, named.encoder) == (tmp_path / "x", "owner/model")


@pytest.mark.parametrize(
    ("text", "override", "said"),
    [
        ("data: a\nepoch: 3\n", "", "no setting epoch (did you mean 'epochs'?)"),
        ("data: a\nepoch: 3\n", "", "data, encoder, epochs, notes, inner"),
        ("data: a\n", "inner.speed=3", "--set: there is no setting inner.speed; there are"),
        ("data: a\nepochs: many\n", "", "settings.yaml: epochs should be a valid integer"),
        ("data: a\nepochs: many\n", "", "and is 'many'"),
        ("data: a\ninner: {rate: 0}\n", "", "inner.rate should be greater than 0 and is 0"),
        ("data: a\n", "epochs=few", "--set: epochs"),
        ("", "", "the setting data is missing"),
        ("data: a\ninner: 3\n", "", "inner should be"),
        ("data: a\n", "epochs", "--set epochs"),
        ("data: a\n", "=3", "--set =3"),
        ("data: a\n", "inner.=3", "--set inner.=3"),
        ("data: a\n", "epochs=[1", "--set epochs=[1"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, override: str, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        settings_in(tmp_path, text, *filter(None, [override]))
    assert said in str(refused.value)


def test_a_file_that_holds_no_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="must hold settings"):
        settings_in(tmp_path, "- a\n- b\n")
    with pytest.raises(InputError, match="cannot read"):
        read_settings(tmp_path / "none.yaml", Outer)
