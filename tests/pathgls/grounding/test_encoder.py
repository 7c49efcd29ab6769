"""Encoders by their names, and the message where there is none of that name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from histoeval.errors import ModelError
from histoeval.pathgls.grounding import load
from histoeval.pathgls.grounding.encoder import of_length_one, unknown_images, unknown_phrases
from histoeval.pathgls.grounding.load import open_encoder
from tests.support.colour_encoder import CautiousEncoder, ColourEncoder


class _Made:
    def __init__(self, *given: Any) -> None:
        self.given = given


@pytest.mark.parametrize("spec", [None, "builtin"])
def test_the_shipped_encoder_is_opened_by_default(
    spec: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "BuiltinEncoder", _Made)
    assert isinstance(open_encoder(spec), _Made)


@pytest.mark.parametrize(
    ("spec", "name"),
    [("plip", "vinid/plip"), ("PLIP", "vinid/plip"), ("some/model", "some/model")],
)
def test_other_names_are_clip_models_of_transformers(
    spec: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(load, "ClipEncoder", _Made)
    opened: Any = open_encoder(spec, "cpu")
    assert opened.given == (name, "cpu")


def test_a_folder_of_our_own_making_is_opened_as_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    monkeypatch.setattr(load, "BuiltinEncoder", _Made)
    opened: Any = open_encoder(str(tmp_path))
    assert opened.given == (tmp_path,)


def test_an_encoder_that_cannot_tell_what_it_knows_is_taken_to_know_all() -> None:
    plain, cautious = ColourEncoder(), CautiousEncoder()
    green = cautious.texts(["green"])
    assert unknown_phrases(plain, ["green"]) == unknown_images(plain, green) == [None]
    assert unknown_phrases(cautious, ["green", "pink"]) == ["green is not known", None]
    assert unknown_images(cautious, green) == ["too green"]


def test_vectors_are_made_one_long_and_bad_ones_refused() -> None:
    rows = of_length_one(np.array([[3.0, 4.0], [0.0, 2.0]]), "m")
    assert rows.dtype == np.float32
    assert rows == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    for bad in ([[0.0, 0.0]], [[np.nan, 1.0]]):
        with pytest.raises(ModelError, match="check its weights"):
            of_length_one(np.array(bad), "m")
