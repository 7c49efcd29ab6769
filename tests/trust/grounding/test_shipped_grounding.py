"""The grounding model that is shipped: its size, and what no model of its kind may get wrong."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from histoeval.report import EntityType
from histoeval.trust.grounding.builtin import BuiltinEncoder

HOME = Path(str(files("histoeval") / "models" / "grounding"))
MOST_BYTES = 35_000_000


def test_it_is_small_enough_to_be_shipped() -> None:
    assert sum(file.stat().st_size for file in HOME.iterdir()) < MOST_BYTES


def test_the_card_names_what_was_seen_and_whose_it_is() -> None:
    card = (HOME / "README.md").read_text("utf-8")
    for words in ("Serdar Balci", "Memorial Patoloji", "DINOv2", "hepatocellular carcinoma", "H&E"):
        assert words in card


@pytest.mark.parametrize(
    ("phrase", "nearest"),
    [
        ("hepatocellular carcinoma", "hepatocellular carcinoma"),
        ("colonic adenocarcinoma", "colon adenocarcinoma"),
        ("liver", "liver"),
        ("granulomas in the liver", "granulomatous hepatitis"),
    ],
)
def test_what_was_learned_is_known_by_name(
    encoder: BuiltinEncoder, phrase: str, nearest: str
) -> None:
    (scope,) = encoder.phrase_scope([phrase])
    assert scope.known
    assert scope.nearest == nearest
    assert encoder.unknown_phrases([phrase]) == [None]


@pytest.mark.parametrize("phrase", ["quarterly earnings", "blue sky with clouds", "seminoma"])
def test_what_was_never_learned_is_not_known(encoder: BuiltinEncoder, phrase: str) -> None:
    (reason,) = encoder.unknown_phrases([phrase])
    assert reason is not None
    assert "nothing that the model has learned" in reason


def test_an_empty_picture_is_not_known(encoder: BuiltinEncoder) -> None:
    white = np.full((224, 224, 3), 255, np.uint8)
    (reason,) = encoder.unknown_images(encoder.images([white]))
    assert reason is not None


def test_synonyms_are_nearer_to_each_other_than_to_another_organ(encoder: BuiltinEncoder) -> None:
    one, same, other = encoder.texts(["hepatic parenchyma", "liver tissue", "brain tissue"])
    assert one @ same > one @ other


def test_each_kind_of_claim_has_a_curve_that_rises(encoder: BuiltinEncoder) -> None:
    kinds = {EntityType.SITE, EntityType.DIAGNOSIS, EntityType.FINDING}
    assert set(encoder.calibrations) == kinds
    assert all(curve.slope > 0 for curve in encoder.calibrations.values())
    assert encoder.identity.startswith("histoeval-grounding@")
    assert (encoder.size, encoder.dimension) == (224, 256)
