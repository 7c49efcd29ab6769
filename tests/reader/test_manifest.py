"""A reader's folder is read whole or refused with a sentence that names the file."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import ModelError
from histoeval.reader.manifest import (
    ENCODER,
    LINKER,
    TOKENIZER,
    ConfidenceCurve,
    Manifest,
    hash_of,
)

FILES = (ENCODER, LINKER, TOKENIZER)
MANIFEST = Manifest.home


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that is whole as far as its manifest can tell."""
    for number, name in enumerate(FILES):
        (tmp_path / name).write_bytes(bytes(range(256)) * (number + 3))
    hashes = {name: hash_of(tmp_path / name) for name in FILES}
    Manifest(name="ours", files=hashes).write(tmp_path)
    return tmp_path


def rewrite(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what the manifest says."""
    said = json.loads((folder / MANIFEST).read_bytes())
    change(said)
    (folder / MANIFEST).write_text(json.dumps(said), "utf-8")


def test_what_was_written_is_what_is_read(folder: Path) -> None:
    manifest = Manifest.read(folder)
    assert manifest.name == "ours"
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, MANIFEST])
    manifest.write(folder)
    assert Manifest.read(folder) == manifest


def spoil(folder: Path, name: str, how: str) -> None:
    path = folder / name
    content = bytearray(path.read_bytes())
    match how:
        case "gone":
            path.unlink()
        case "unknown":
            rewrite(folder, lambda said: said["files"].pop(name))
        case "first byte" | "byte 300" | "last byte":
            content[{"first byte": 0, "byte 300": 300, "last byte": -1}[how]] ^= 1
            path.write_bytes(content)
        case _:
            path.write_bytes(content[: int(how)])


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    "how", ["gone", "unknown", "first byte", "byte 300", "last byte", "0", "1", "700"]
)
def test_a_file_that_is_not_as_it_was_written_is_named(folder: Path, name: str, how: str) -> None:
    spoil(folder, name, how)
    with pytest.raises(ModelError, match=f"{name} (is not the file|cannot be read)"):
        Manifest.read(folder)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="nowhere is not the folder of a reader"):
        Manifest.read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"null", b"\xff\xfe{}", b'{"name": "x"}', b'{"format": 2}']
)
def test_a_manifest_that_is_none_is_named(folder: Path, content: bytes) -> None:
    (folder / MANIFEST).write_bytes(content)
    with pytest.raises(ModelError, match=f"{MANIFEST} is not what a reader's manifest should be"):
        Manifest.read(folder)


@pytest.mark.parametrize("labels", ["tags", "assertions", "relations"])
@pytest.mark.parametrize("change", [list.pop, list.reverse, lambda given: given.append("more")])
def test_labels_of_another_version_are_refused(
    folder: Path, labels: str, change: Callable[[list[str]], object]
) -> None:
    rewrite(folder, lambda said: change(said[labels]))
    with pytest.raises(ModelError, match=f"{MANIFEST} has other {labels}"):
        Manifest.read(folder)


@pytest.mark.parametrize(
    "change",
    [
        *({key: -1} for key in ("window", "overlap", "format", "unheard_of")),
        {"window": 64, "overlap": 64},
    ],
)
def test_settings_that_make_no_sense_are_refused(folder: Path, change: dict[str, int]) -> None:
    rewrite(folder, lambda said: said.update(change))
    with pytest.raises(ModelError, match=MANIFEST):
        Manifest.read(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"files": {ENCODER: "0" * 64}},
        {"window": 128},
        {"overlap": 32},
        {"entity_curve": ConfidenceCurve(slope=0.5)},
        {"relation_curve": ConfidenceCurve(offset=0.1)},
    ],
)
def test_the_identity_changes_with_everything_that_answers_depend_on(
    change: dict[str, Any],
) -> None:
    manifest = Manifest(name="ours", files={ENCODER: "1" * 64})
    assert manifest.model_copy(update=change).identity != manifest.identity


def test_the_identity_does_not_change_with_what_is_only_told() -> None:
    manifest = Manifest(name="ours", files={})
    told = manifest.model_copy(update={"details": {"f1": 0.9}})
    assert told.identity == manifest.identity
    assert manifest.identity.startswith("ours@")


curves = st.builds(ConfidenceCurve, slope=st.floats(0.01, 20), offset=st.floats(-20, 20))
probabilities = st.floats(0, 1)


@given(curves, st.lists(probabilities, min_size=2, max_size=20))
def test_a_curve_never_turns_back_and_stays_between_0_and_1(
    curve: ConfidenceCurve, drawn: list[float]
) -> None:
    shares = [curve(probability) for probability in sorted(drawn)]
    assert shares == sorted(shares)
    assert 0 <= shares[0] <= shares[-1] <= 1


@given(st.floats(0.001, 0.999))
def test_a_plain_curve_changes_nothing(probability: float) -> None:
    assert ConfidenceCurve()(probability) == pytest.approx(probability)


def test_a_curve_bends_the_log_odds() -> None:
    curve = ConfidenceCurve(slope=0.5, offset=1.0)
    assert curve(0.5) == pytest.approx(1 / (1 + math.exp(-1)))
    assert curve(0.9) == pytest.approx(1 / (1 + math.exp(-1) / 3))  # odds of 9 to 1; the root is 3
