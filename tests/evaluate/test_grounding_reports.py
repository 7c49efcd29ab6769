"""Worded reports on labelled tiles, judged by grounding with an encoder that knows colours."""

import pytest

from histoeval.evaluate.grounding import embedded, entry_vectors, tiles_of
from histoeval.evaluate.grounding_scores import ScoredTiles, score_tiles
from histoeval.evaluate.grounding_verdicts import (
    decided_remarks,
    report_claim,
    unsafe_figures,
    worded_figures,
)
from histoeval.evaluate.tile_labels import entries_of, read_pixels
from histoeval.pathgls.grounding.decisions import BehaviourLimits
from histoeval.pathgls.grounding.encoder import Vectors
from tests.support.organ_encoder import decisions_for, limits_of
from tests.support.tile_encoder import TileEncoder
from tests.support.tiny_tiles import write_tiles

ORGANS = ("colon", "liver")


@pytest.fixture(name="seen", scope="module")
def tiles_as_seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[ScoredTiles, Vectors]:
    folder = write_tiles(tmp_path_factory.mktemp("tiles"))
    tiles = [tile for split in ("train", "test") for tile in tiles_of(folder, split)]
    encoder, entries = TileEncoder(), entries_of(tiles)
    vectors = embedded(encoder, read_pixels(folder, tiles))
    return score_tiles(tiles, entries, vectors, entry_vectors(encoder, entries)), vectors


def test_true_reports_are_supported_and_foreign_ones_are_not(
    seen: tuple[ScoredTiles, Vectors],
) -> None:
    always = BehaviourLimits(malignant=limits_of(-4.0, -4.0), benign=limits_of(-4.0, -4.0))
    limits = dict.fromkeys(ORGANS, always)
    decisions = decisions_for(ORGANS, tile_behaviour=limits, slide_behaviour=limits)
    found = worded_figures(*seen, TileEncoder(), decisions)
    for name in ("decided, tiles in words", "decided, pictures in words"):
        figures = found[name]
        assert figures["true reports"] == figures["foreign reports"] > 0
        assert figures["true, supported"] > 0.9
        assert figures["foreign, supported"] == 0
        assert figures["foreign, drop"] > 0.5
        assert figures["other diagnosis, supported"] < 0.5
        assert figures["other diagnosis, drop"] > 0
    assert any("another organ drops grounding by" in line for line in decided_remarks(found))


def test_wrong_reports_are_counted_with_what_is_deployed_of_them(
    seen: tuple[ScoredTiles, Vectors],
) -> None:
    never = BehaviourLimits(malignant=limits_of(4.0, -4.0), benign=limits_of(4.0, -4.0))
    limits = {"colon": never}
    decisions = decisions_for(ORGANS, tile_behaviour=limits, slide_behaviour=limits)
    found = unsafe_figures(*seen, TileEncoder(), decisions)
    assert {"unsafe reports: tiles, malignant, behaviour learned"} <= {*found}
    assert {"unsafe reports: pictures, malignant, behaviour not learned"} <= {*found}
    assert sum(each["reports"] for each in found.values()) > 100
    assert sum(each.get("deployed", 0) for each in found.values()) == 0


def test_the_same_reports_are_drawn_again(seen: tuple[ScoredTiles, Vectors]) -> None:
    one, again = (worded_figures(*seen, TileEncoder(), decisions_for(ORGANS)) for _ in range(2))
    assert one == again


def test_images_of_organs_that_cannot_be_told_are_left_out(
    seen: tuple[ScoredTiles, Vectors],
) -> None:
    assert worded_figures(*seen, TileEncoder(), decisions_for(("lung", "brain"))) == {}


@pytest.mark.parametrize(
    ("organ", "diagnosis", "phrase"),
    [
        ("colon", "colon adenocarcinoma", "colon adenocarcinoma"),
        ("liver", "haemangioma", "haemangioma of the liver"),
        ("stomach", "intestinal metaplasia", "intestinal metaplasia of the stomach"),
    ],
)
def test_a_report_names_its_organ_once(organ: str, diagnosis: str, phrase: str) -> None:
    assert report_claim(organ, diagnosis).phrase == phrase
