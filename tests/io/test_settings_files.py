"""YAML that people write: what it says, in which line, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import InputError
from histoeval.io.settings_files import YamlFile, read_yaml


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
def test_what_cannot_be_used_is_told_with_its_file_and_line(
    tmp_path: Path, text: str | bytes, said: str
) -> None:
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
