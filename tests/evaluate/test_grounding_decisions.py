"""Limits of grounding, fitted to made-up cosines of labelled tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from histoeval.errors import InputError
from histoeval.evaluate.grounding_decisions import (
    JudgedImages,
    claim_scores,
    decided_figures,
    fit_decisions,
    told_organs,
)
from histoeval.evaluate.grounding_scores import ScoredTiles
from histoeval.evaluate.tile_labels import LabelledTile, entries_of, targets_of
from histoeval.pathgls.grounding.decisions import ALLOWED, FEW, Decisions
from histoeval.report import EntityType

KINDS = (
    ("colon", "colon adenocarcinoma", "malignant"),
    ("colon", "melanosis coli", "benign"),
    ("liver", "hepatocellular carcinoma", "malignant"),
    ("liver", "peliosis of the liver", "benign"),
)


def tiles_of(cases: int, each: int) -> list[LabelledTile]:
    """Some tiles of each of some cases of each kind."""
    return [
        LabelledTile(
            key=f"{concept}-{case}-{number}",
            organ=organ,
            concept=concept,
            behaviour=behaviour,
            stain="H&E",
            slide=f"{concept}-{case}",
            case=f"{concept}-{case}",
            split="test",
        )
        for organ, concept, behaviour in KINDS
        for case in range(cases)
        for number in range(each)
    ]


def made_up(tiles: Sequence[LabelledTile], apart: float = 0.1, seed: int = 0) -> ScoredTiles:
    """Cosines that lie higher, by so much in their spread of 0.1, where an entry is true."""
    entries = entries_of(tiles)
    truth = targets_of(tiles, entries) == 1
    noise = np.random.default_rng(seed).normal(0, 0.1, truth.shape)
    return ScoredTiles(tiles, entries, apart * truth + noise)


def fitted(*trials: ScoredTiles) -> Decisions:
    return fit_decisions(trials, told_organs(trials[0].tiles), "made-up", "made-up tiles")


@pytest.mark.parametrize("apart", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("seed", [1, 2])
def test_one_foreign_claim_of_twenty_is_supported_at_most(apart: float, seed: int) -> None:
    """However well or badly the encoder tells organs apart; counted on the tiles of the fit."""
    found = made_up(tiles_of(20, 6), apart, seed)
    decisions = fitted(found)
    images = (JudgedImages.of_tiles(found), JudgedImages.of_slides(found))
    for some in images:
        assert some is not None
        limits = decisions.limits(int(some.patches[0]))
        scores = claim_scores(some, decisions.organs)
        for kind, each in limits.items():
            true, foreign, _ = scores[kind]
            assert (foreign >= each.supported).mean() <= ALLOWED + 1 / len(foreign)
            assert (true <= each.contradicted).mean() <= ALLOWED + 1 / len(true)
        assert decided_figures(some, decisions)["foreign, supported"] <= ALLOWED


def test_tiles_of_other_cases_are_supported_as_seldom() -> None:
    decisions = fitted(made_up(tiles_of(40, 6), seed=1))
    other = JudgedImages.of_tiles(made_up(tiles_of(40, 6), seed=2))
    assert decided_figures(other, decisions)["foreign, supported"] <= 1.5 * ALLOWED


def test_an_encoder_that_tells_organs_apart_supports_true_reports() -> None:
    found = made_up(tiles_of(20, 6), 0.6)
    figures = decided_figures(JudgedImages.of_tiles(found), fitted(found))
    assert figures["true, supported"] > 0.8
    assert figures["true, contradicted"] <= 2 * ALLOWED
    assert figures["true reports"] == len(found.tiles)


def test_the_stricter_of_two_laboratories_counts() -> None:
    easy, hard = made_up(tiles_of(20, 6), 0.5), made_up(tiles_of(20, 6), 0.02, seed=4)
    site = EntityType.SITE
    both, alone = fitted(easy, hard).tile[site], fitted(easy).tile[site]
    assert both.supported == fitted(hard).tile[site].supported > alone.supported
    assert both.contradicted == min(fitted(hard).tile[site].contradicted, alone.contradicted)


def test_an_organ_is_never_supported_where_another_looks_likelier() -> None:
    """Organs that lie far apart leave room below: what stands behind another is no support."""
    decisions = fitted(made_up(tiles_of(20, 6), 2.0))
    for limits in (decisions.tile, decisions.slide):
        assert limits[EntityType.SITE].supported > 0
        assert limits[EntityType.SITE].midpoint == limits[EntityType.SITE].supported


def test_slides_of_too_few_tiles_are_judged_as_tiles_are() -> None:
    decisions = fitted(made_up(tiles_of(20, FEW - 1)))
    assert decisions.slide == decisions.tile
    assert JudgedImages.of_slides(made_up(tiles_of(2, FEW - 1))) is None


def test_a_slide_stands_by_the_mean_of_its_tiles_for_the_organ_and_by_the_best_for_claims() -> None:
    found = made_up(tiles_of(3, 6))
    slides = JudgedImages.of_slides(found)
    assert slides is not None
    assert slides.patches.tolist() == [6] * 12
    assert slides.means.cosines[0] == pytest.approx(found.cosines[:6].mean(axis=0))
    assert slides.heights.cosines[0] == pytest.approx(found.cosines[:6].max(axis=0))


def test_organs_of_two_cases_are_not_told() -> None:
    some = tiles_of(4, 1)
    few = [t for t in some if t.organ == "colon" or t.case == "peliosis of the liver-0"]
    assert told_organs(some) == ("colon", "liver")
    assert told_organs(few) == ("colon",)
    stained = [replace(t, stain="IHC CK7") if t.organ == "liver" else t for t in some]
    assert told_organs(stained) == ("colon",), "other stains say nothing on H&E"


def test_one_organ_is_refused_with_the_cure() -> None:
    found = made_up([tile for tile in tiles_of(20, 2) if tile.organ == "colon"])
    with pytest.raises(InputError, match=r"1 organs? .*two are needed.*add cases"):
        fitted(found)


def test_too_few_tiles_are_refused_with_the_number_that_is_needed() -> None:
    with pytest.raises(
        InputError, match=r"too few labelled tiles: 20 true.* there are 12; add tiles"
    ):
        fitted(made_up(tiles_of(3, 1)))


def test_a_kind_of_claim_with_too_few_tiles_has_no_limits() -> None:
    bare = [replace(tile, concept=None, behaviour=None) for tile in tiles_of(20, 1)]
    assert set(fitted(made_up(bare)).tile) == {EntityType.SITE}


def test_the_same_tiles_give_the_same_limits() -> None:
    found = made_up(tiles_of(20, 6))
    assert fitted(found) == fitted(found)
    assert fitted(found).identity == fitted(found).identity


def test_an_encoder_that_has_it_backwards_is_refused() -> None:
    with pytest.raises(InputError, match=r"does not tell the organs.*check the labels"):
        fitted(made_up(tiles_of(20, 6), -0.5))
