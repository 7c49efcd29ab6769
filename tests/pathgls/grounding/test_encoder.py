"""Encoders by their names, and the message where there is none of that name."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from histoeval.errors import ModelError, SettingError
from histoeval.pathgls.grounding import load
from histoeval.pathgls.grounding.encoder import of_length_one
from histoeval.pathgls.grounding.load import known_encoders, open_encoder, open_panel, panel_names


class _Made:
    def __init__(self, *given: Any, device: str | None = None) -> None:
        self.given = given
        self.device = device


@pytest.mark.parametrize("spec", [None, "builtin", "a folder of ours"])
def test_the_shipped_encoder_and_those_of_its_form_are_opened(
    spec: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "BuiltinEncoder", _Made)
    given: tuple[Path, ...] = ()
    if spec == "a folder of ours":
        (tmp_path / "manifest.json").write_text("{}")
        spec, given = str(tmp_path), (tmp_path,)
    opened: Any = open_encoder(spec, "cuda")
    assert isinstance(opened, _Made)
    assert (opened.given, opened.device) == (given, "cuda")


@pytest.mark.parametrize(
    ("spec", "name"), [("plip", "vinid/plip"), ("PLIP", "vinid/plip"), ("some/model", "some/model")]
)
def test_names_of_clip_models(spec: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(load.OPENERS, "transformers", _Made)
    opened: Any = open_encoder(spec, "cpu")
    assert opened.given == (name, "cpu")


def test_vectors_are_made_one_long_and_bad_ones_refused() -> None:
    rows = of_length_one(np.array([[3.0, 4.0], [0.0, 2.0]]), "m")
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    for bad in ([[0.0, 0.0]], [[np.nan, 1.0]]):
        with pytest.raises(ModelError, match="check its weights"):
            of_length_one(np.array(bad), "m")


def test_the_catalogue_says_how_each_encoder_is_to_be_had() -> None:
    known = known_encoders()
    assert {"plip", "quiltnet", "conch", "musk", "medsiglip", "titan"} <= set(known)
    assert [name for name, each in known.items() if each.slides] == ["titan"]
    assert "accept its terms" in known["conch"].advice
    assert "hf download vinid/plip --local-dir plip" in known["plip"].advice
    assert "terms" not in known["plip"].advice


def test_the_page_on_encoders_has_a_row_for_each_of_them() -> None:
    page = Path(__file__).parents[3].joinpath("docs/encoders.md").read_text("utf-8")
    for name, each in known_encoders().items():
        rows = [line for line in page.splitlines() if line.startswith(f"| `{name}` |")]
        (row,) = [line for line in rows if f"`{each.hub}`" in line]
        assert f"| {each.size} |" in row
        assert each.licence in row
        assert ("| yes |" in row) is each.gated


def test_a_name_without_its_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="names no folder"):
        open_encoder("plip=")
    with pytest.raises(ModelError, match=r"no file or folder .*hf download vinid/plip"):
        open_encoder(f"plip={tmp_path / 'absent'}")
    with pytest.raises(ModelError, match="did you mean 'quiltnet'"):
        open_encoder("quilnet")


def test_a_panel_is_named_with_a_plus_or_one_by_one(tmp_path: Path) -> None:
    assert panel_names(None) == [None]
    assert panel_names("builtin") == ["builtin"]
    assert panel_names("builtin+plip") == panel_names(["builtin", "plip"]) == ["builtin", "plip"]
    odd = tmp_path / "a+b"
    odd.mkdir()
    assert panel_names(f"plip={odd}") == [f"plip={odd}"]
    with pytest.raises(SettingError, match="lacks an encoder"):
        panel_names("plip+")
    with pytest.raises(SettingError, match="named twice"):
        panel_names(["plip", "builtin+plip"])


def test_the_same_weights_have_one_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    named = {"a/x": "x@1/float32", "b/y": "y@1/float32", "c/z": "z@2/float32"}

    class Identified:
        def __init__(self, name: str, device: str | None) -> None:
            self.identity = named[name]

    monkeypatch.setitem(load.OPENERS, "transformers", Identified)
    assert [each.identity for each in open_panel("a/x+c/z")] == ["x@1/float32", "z@2/float32"]
    with pytest.raises(SettingError, match="same weights"):
        open_panel(["a/x", "b/y"])
