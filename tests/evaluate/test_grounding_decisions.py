"""Limits of grounding, fitted to made-up cosines of labelled tiles."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from histoeval.errors import InputError
from histoeval.evaluate.grounding import NEVER, claim_scores, decided, fit_decisions, told_organs
from histoeval.evaluate.grounding_scores import (
    JudgedImages,
    ScoredTiles,
    judged_images,
    replaced_figures,
)
from histoeval.evaluate.grounding_verdicts import decided_figures, decided_remarks, judge_stated
from histoeval.evaluate.tile_labels import LabelledTile, entries_of, targets_of
from histoeval.pathgls.grounding.claims import sorted_claims
from histoeval.pathgls.grounding.decisions import (
    ALLOWED,
    ALLOWED_AGAINST,
    FEW,
    Decisions,
    OrganScores,
)
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.pathgls.grounding.verdicts import NamedPlace, SpecimenVerdicts
from histoeval.pathgls.results import Support
from histoeval.report import EntityType
from tests.support.colour_encoder import claim
from tests.support.organ_encoder import decisions_for, limits_of

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
        scores = claim_scores(some, decisions.organs, decisions.handicaps)
        for kind, each in limits.items():
            _, foreign, plain = scores[kind]
            assert (foreign >= each.supported).mean() <= ALLOWED + 1 / len(foreign)
            assert (plain <= each.contradicted).mean() <= ALLOWED + 1 / len(plain)
        assert decided_figures(some, decisions)["foreign, supported"] <= ALLOWED


def test_an_organ_that_a_laboratory_looks_like_all_over_has_a_handicap() -> None:
    """Tiles of one laboratory look like liver whatever they show; limits of all would not tell."""
    tiles = [
        replace(t, laboratory=("ours", "theirs")[n % 2]) for n, t in enumerate(tiles_of(20, 6))
    ]
    found = made_up(tiles, 0.6)
    liver = [n for n, e in enumerate(found.entries) if (e.group, e.name) == ("organ", "liver")]
    theirs = [n for n, tile in enumerate(tiles) if tile.laboratory == "theirs"]
    found.cosines[np.ix_(theirs, liver)] += 0.9
    decisions = fitted(found)
    assert decisions.handicaps["liver"] > 0.3 > decisions.handicaps["colon"]
    foreign = decided_figures(JudgedImages.of_tiles(found), with_diagnoses(decisions))
    assert foreign["foreign, supported"] <= ALLOWED


def test_tiles_of_other_cases_are_supported_as_seldom() -> None:
    decisions = fitted(made_up(tiles_of(40, 6), seed=1))
    other = JudgedImages.of_tiles(made_up(tiles_of(40, 6), seed=2))
    assert decided_figures(other, decisions)["foreign, supported"] <= 1.5 * ALLOWED


def with_diagnoses(decisions: Decisions) -> Decisions:
    """Limits for diagnoses too, for which four kinds of tiles are too few."""
    own = {EntityType.DIAGNOSIS: limits_of(1.0, -9.0)}
    return decisions.model_copy(
        update={"tile": decisions.tile | own, "slide": decisions.slide | own}
    )


def test_an_encoder_that_tells_organs_apart_supports_true_reports() -> None:
    found = made_up(tiles_of(20, 6), 0.6)
    figures = decided_figures(JudgedImages.of_tiles(found), with_diagnoses(fitted(found)))
    assert figures["true, supported"] > 0.8
    assert figures["true, contradicted"] <= 2 * ALLOWED
    assert figures["true reports"] == len(found.tiles)


def test_without_limits_for_diagnoses_no_report_that_states_one_is_supported() -> None:
    """As `trust` answers: a kind of claim that was never measured is not known."""
    bare = [replace(tile, concept=None, behaviour=None) for tile in tiles_of(20, 1)]
    assert set(fitted(made_up(bare)).tile) == {EntityType.SITE}, "too few tiles of a diagnosis"
    found = made_up(tiles_of(20, 6), 0.6)
    assert set(fitted(found).tile) == {EntityType.SITE}
    figures = decided_figures(JudgedImages.of_tiles(found), fitted(found))
    assert figures["true, not_known"] == figures["foreign, not_known"] == 1


@pytest.mark.parametrize("kind", ["tiles", "pictures", "slides"])
def test_reports_are_judged_on_tiles_pictures_and_slides(kind: str) -> None:
    found = made_up(tiles_of(20, 6), 0.6)
    images = judged_images(found)[kind]
    figures = decided_figures(images, with_diagnoses(fitted(found)))
    assert figures["true reports"] == len(images.means.tiles)
    assert figures["foreign reports"] == 2 * len(images.means.tiles)
    assert figures["other diagnosis reports"] == len(images.means.tiles)
    assert figures["true, supported"] > 0.8
    assert figures["foreign, supported"] <= ALLOWED
    assert figures["other diagnosis, supported"] < figures["true, supported"]
    assert figures["commonest organ"] == 0.5


def test_the_bank_is_judged_as_reports_in_words_are() -> None:
    """The same margins and standings, through claims and through the bank."""
    decisions = decisions_for()
    for margin in np.linspace(-0.3, 0.4, 8):
        for stands in np.linspace(-2, 2, 9):
            cosines = np.array([[0.0, margin, -1.0]])
            lesion = claim("hepatocellular carcinoma", EntityType.DIAGNOSIS)
            specimen = SpecimenVerdicts(
                OrganScores(decisions.organs, cosines),
                decisions.tile,
                (NamedPlace("liver", frozenset({"liver"})),),
                sorted_claims([lesion]),
                malignancy={},
                behaviour_limits={},
            )
            judged = specimen.judged(Support(claim=lesion), float(stands))
            said, _ = specimen.of_report([judged])
            own = specimen.organs.margin(["liver"])
            assert judge_stated(own, float(stands), decisions.tile, "malignant")[0] == said


def test_a_picture_is_up_to_36_tiles_of_a_slide_that_show_the_same() -> None:
    some = made_up(tiles_of(1, 40))
    pictures, again, other = (pictures_of(some, seed) for seed in (0, 0, 1))
    assert pictures.patches.tolist() == [36] * len(KINDS)
    assert np.array_equal(again.means.cosines, pictures.means.cosines)
    assert not np.array_equal(other.means.cosines, pictures.means.cosines)


def pictures_of(found: ScoredTiles, seed: int = 0) -> JudgedImages:
    pictures = JudgedImages.of_pictures(found, seed)
    assert pictures is not None
    return pictures


def test_slides_of_a_single_tile_are_one_picture_where_they_show_the_same() -> None:
    pictures = pictures_of(made_up(tiles_of(40, 1)))
    assert sorted(pictures.patches.tolist()) == [4] * len(KINDS) + [36] * len(KINDS)
    assert JudgedImages.of_pictures(made_up(tiles_of(1, 1))) is None
    apart = [replace(tile, laboratory=tile.case) for tile in tiles_of(5, 1)]
    assert JudgedImages.of_pictures(made_up(apart)) is None, "no two are of one laboratory"


def test_tiles_of_a_patient_that_show_different_things_are_different_pictures() -> None:
    tiles = [replace(tile, slide=str(tile.organ)) for tile in tiles_of(1, 3)]
    pictures = pictures_of(made_up(tiles))
    assert pictures.patches.tolist() == [3, 3, 3, 3]
    assert [tile.concept for tile in pictures.means.tiles] == [concept for _, concept, _ in KINDS]


def test_the_drop_by_another_diagnosis_of_the_same_organ_is_measured_within_the_organ() -> None:
    """The encoder tells organs apart, and no diagnosis from another of the same organ."""
    tiles = tiles_of(10, 2)
    entries = entries_of(tiles)
    homes = {concept: organ for organ, concept, _ in KINDS}
    cosines = np.array([[homes.get(e.name) == t.organ for e in entries] for t in tiles], float)
    noise = np.random.default_rng(0).normal(0, 0.01, cosines.shape)
    curves = {"diagnosis": ClaimCalibration(slope=2.0, midpoint=0.5)}
    found = replaced_figures(ScoredTiles(tiles, entries, cosines + noise), curves)
    assert found["concept"]["drop"] > 0.3
    assert found["diagnosis, same organ"]["drop"] == pytest.approx(0, abs=0.05)
    assert found["diagnosis, same organ"]["auroc"] == pytest.approx(0.5, abs=0.1)


def test_an_organ_with_one_diagnosis_says_nothing_on_another() -> None:
    curves = {"diagnosis": ClaimCalibration(slope=2.0, midpoint=0.5)}
    one = [tile for tile in tiles_of(5, 1) if tile.behaviour == "malignant"]
    assert "diagnosis, same organ" not in replaced_figures(made_up(one), curves)


def test_remarks_say_the_commonest_organ_and_wrong_diagnoses() -> None:
    found = made_up(tiles_of(20, 6), 0.6)
    figures = decided(found, with_diagnoses(fitted(found)))
    lines = list(decided_remarks(figures))
    assert [line.partition(":")[0] for line in lines] == ["tiles", "pictures", "slides"]
    assert all("commonest organ has 50%" in line for line in lines)
    assert all("another diagnosis of the same organ is supported in 0." in line for line in lines)
    assert all("the wrong behaviour (benign or malignant) is 0." in line for line in lines)


def test_the_stricter_of_two_laboratories_counts() -> None:
    easy, hard = made_up(tiles_of(20, 6), 0.5), made_up(tiles_of(20, 6), 0.02, seed=4)
    both, alone, other = fitted(easy, hard), fitted(easy), fitted(hard)
    assert both.handicaps == other.handicaps
    assert all(both.handicaps[organ] > alone.handicaps[organ] for organ in both.organs)
    contradicted = [each.tile[EntityType.SITE].contradicted for each in (both, alone, other)]
    assert contradicted[0] == min(contradicted)


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


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (
            made_up([tile for tile in tiles_of(20, 2) if tile.organ == "colon"]),
            r"1 organs? .*two are needed.*add cases",
        ),
        (made_up(tiles_of(3, 1)), r"too few labelled tiles: 20 true.* there are 12; add tiles"),
        (made_up(tiles_of(20, 6), -0.5), r"does not tell the organs.*check the labels"),
    ],
)
def test_tiles_that_give_no_limits_are_refused_with_the_cure(found: ScoredTiles, why: str) -> None:
    with pytest.raises(InputError, match=why):
        fitted(found)


@pytest.mark.parametrize("kind", ["tiles", "slides"])
def test_a_wrong_behaviour_is_supported_in_one_of_twenty_and_a_true_one_seldom_contradicted(
    kind: str,
) -> None:
    found = made_up(tiles_of(40, 6), 0.1)
    decisions = fitted(found)
    assert set(decisions.tile_behaviour) == set(decisions.slide_behaviour) == {"colon", "liver"}
    figures = decided_figures(judged_images(found)[kind], with_diagnoses(decisions))
    assert figures["wrong behaviour, supported"] <= ALLOWED
    assert figures["true behaviour, contradicted"] <= ALLOWED_AGAINST + 1 / 80
    assert figures["true behaviour, supported"] > 0.3
    assert figures["other behaviour, contradicted"] > 0.1
    assert figures["other behaviour reports"] == figures["other diagnosis reports"]


def test_behaviour_is_decided_only_where_it_is_told_apart_in_enough_cases() -> None:
    assert fitted(made_up(tiles_of(40, 6), 0.01)).tile_behaviour == {}
    assert fitted(made_up(tiles_of(4, 20), 0.3)).tile_behaviour == {}
    assert fitted(made_up(tiles_of(5, 20), 0.3)).tile_behaviour.keys() == {"colon", "liver"}


def without_malignant_colon(found: ScoredTiles) -> ScoredTiles:
    """By a model that had not learned of it."""
    taught = np.ones(found.cosines.shape, bool)
    names = [(entry.group, entry.name) for entry in found.entries]
    taught[:, names.index(("site", "malignant colon"))] = False
    return replace(found, taught=taught)


def test_a_model_that_had_not_learned_both_sides_says_nothing_of_behaviour() -> None:
    found = without_malignant_colon(made_up(tiles_of(40, 6), 0.3))
    assert fitted(found).tile_behaviour.keys() == {"liver"}


def test_what_was_not_counted_on_other_laboratories_contradicts_nothing() -> None:
    found = made_up(tiles_of(40, 6), 0.3)
    decisions = fitted(found, without_malignant_colon(found))
    assert decisions.tile_behaviour["colon"].malignant.contradicted == NEVER
    assert decisions.tile_behaviour["colon"].benign.contradicted == NEVER
    assert decisions.tile_behaviour["liver"].malignant.contradicted > NEVER


def test_the_limits_of_few_slides_lie_beyond_all_of_them() -> None:
    found = made_up(tiles_of(6, 6), 0.3)
    limits = fitted(found).slide_behaviour["liver"]
    slides = judged_images(found)["slides"]
    scores, tiles = slides.malignancy("liver"), slides.means.tiles
    benign = [s for s, t in zip(scores, tiles, strict=True) if t.concept == KINDS[3][1]]
    assert len(benign) == 6
    assert limits.malignant.supported > max(benign)
    assert limits.benign.contradicted < -max(benign)
