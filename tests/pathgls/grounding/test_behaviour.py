"""Benign or malignant: what a report states, and what the image says of it."""

import numpy as np
import pytest

from histoeval.pathgls.grounding.claims import sorted_claims
from histoeval.pathgls.grounding.decisions import FEW, BehaviourLimits, Decisions
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.encoder import Vectors
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.grounding.verdicts import (
    denies_malignancy,
    malignancy,
    side_of,
    stated_behaviour,
)
from histoeval.pathgls.results import Claim, Grounding
from histoeval.report import Assertion, EntityType
from tests.support.colour_encoder import STRANGE, claim
from tests.support.organ_encoder import OrganEncoder, decisions_for, limits_of, patch, slide_of

CANCER = patch({"liver": 1.0, "carcinoma": 1.0, "malignan": 0.6})
HARMLESS = patch({"liver": 1.0, "carcinoma": 1.0, "benign": 0.6})
UNCLEAR = patch({"liver": 1.0, "carcinoma": 1.0})
LIMITS = BehaviourLimits(malignant=limits_of(0.0, -0.2), benign=limits_of(0.0, -0.2))
MALIGNANT = claim("hepatocellular carcinoma", EntityType.DIAGNOSIS)
BENIGN = claim("focal nodular hyperplasia of the liver", EntityType.DIAGNOSIS)
SITE = claim("liver tissue", EntityType.SITE)
NO_CANCER = claim("malignancy", EntityType.DIAGNOSIS, Assertion.ABSENT)


def with_behaviour() -> Decisions:
    return decisions_for(tile_behaviour={"liver": LIMITS}, slide_behaviour={"liver": LIMITS})


def said_of(image: EmbeddedImage, *claims: Claim, decisions: Decisions | None = None) -> Grounding:
    found = ground(image, claims, OrganEncoder(), STRANGE, decisions or with_behaviour())
    assert isinstance(found, Grounding), found
    return found


@pytest.mark.parametrize(
    ("phrase", "side"),
    [
        ("hepatocellular carcinoma", "malignant"),
        ("carcinoma in situ", "malignant"),
        ("tubular adenoma of the colon", "benign"),
        ("normal lung", "benign"),
        ("chronic cholecystitis", "benign"),
        ("high-grade dysplasia", None),
        ("serous borderline tumour of the ovary", None),
        ("neoplasm", None),
        ("amber thing", None),
    ],
)
def test_a_diagnosis_is_on_a_side_or_leaves_it_open(phrase: str, side: str | None) -> None:
    assert side_of(phrase) == side


@pytest.mark.parametrize("count", [1, FEW - 1, FEW, 40])
def test_carcinoma_is_contradicted_by_tissue_that_looks_benign(count: int) -> None:
    found = said_of(slide_of(*[HARMLESS] * count), SITE, MALIGNANT)
    assert [each.verdict for each in found.supports] == ["supported", "contradicted"]
    assert found.verdict == "contradicted"
    assert "the tissue looks benign, the report says hepatocellular carcinoma" in found.why
    assert said_of(slide_of(*[CANCER] * count), SITE, MALIGNANT).verdict == "supported"


def test_files_written_before_there_were_such_limits_are_read() -> None:
    content = decisions_for().model_dump(mode="json")
    del content["tile_behaviour"], content["slide_behaviour"]
    assert Decisions.model_validate(content).behaviour_limits(1) == {}


def test_a_few_malignant_patches_of_many_are_enough_for_carcinoma_and_too_many_for_benign() -> None:
    image = slide_of(*[CANCER] * 6, *[HARMLESS] * 34)
    assert said_of(image, SITE, MALIGNANT).supports[1].verdict == "supported"
    found = said_of(image, SITE, BENIGN)
    assert found.supports[1].verdict == "contradicted"
    assert "looks malignant, the report says focal nodular hyperplasia" in found.why


def test_what_is_benign_beside_a_carcinoma_is_not_contradicted_by_it() -> None:
    found = said_of(slide_of(CANCER), SITE, MALIGNANT, BENIGN)
    assert "contradicted" not in [each.verdict for each in found.supports]


def test_an_image_of_what_is_benign_does_not_contradict_the_carcinoma_beside_it() -> None:
    found = said_of(slide_of(HARMLESS), SITE, MALIGNANT, BENIGN)
    assert found.supports[1].verdict == "not_known"
    assert (found.supports[1].value or 0) < 0.5
    assert "looks benign rather than malignant" in found.supports[1].why


def test_that_there_is_no_malignancy_is_contradicted_by_one() -> None:
    found = said_of(slide_of(CANCER), SITE, NO_CANCER)
    assert found.verdict == "contradicted"
    assert found.why == "the tissue looks malignant, the report says that there is no malignancy"
    assert found.value < said_of(slide_of(HARMLESS), SITE, NO_CANCER).value
    assert said_of(slide_of(HARMLESS), SITE, NO_CANCER).verdict == "supported"


@pytest.mark.parametrize(
    ("claims", "denied"),
    [
        ([SITE, NO_CANCER], True),
        ([BENIGN, claim("carcinoma", EntityType.DIAGNOSIS, Assertion.ABSENT)], True),
        ([SITE], False),
        ([MALIGNANT, NO_CANCER], False),
        ([claim("carcinoma", EntityType.DIAGNOSIS, Assertion.UNCERTAIN), NO_CANCER], False),
        ([claim("small cell carcinoma", EntityType.DIAGNOSIS, Assertion.ABSENT)], False),
    ],
)
def test_malignancy_is_denied_where_none_is_spoken_of(claims: list[Claim], denied: bool) -> None:
    assert denies_malignancy(sorted_claims(claims)) == denied


LEFT_OPEN = claim("carcinoma", EntityType.DIAGNOSIS, Assertion.UNCERTAIN)
INFLAMMATION = claim("chronic inflammation in the liver", EntityType.FINDING)
DYSPLASIA = claim("high-grade dysplasia", EntityType.DIAGNOSIS)


@pytest.mark.parametrize(
    ("claims", "stated"),
    [
        ([SITE, MALIGNANT, BENIGN], "malignant"),
        ([SITE, MALIGNANT, NO_CANCER], "open"),
        ([SITE, BENIGN], "benign"),
        ([SITE, INFLAMMATION], "benign"),
        ([SITE, NO_CANCER], "benign"),
        ([SITE, BENIGN, LEFT_OPEN], "open"),
        ([SITE, DYSPLASIA], "open"),
        ([SITE, claim("amber thing", EntityType.DIAGNOSIS)], "open"),
        ([SITE], "nothing"),
    ],
)
def test_the_behaviour_that_a_report_states(claims: list[Claim], stated: str) -> None:
    assert stated_behaviour(sorted_claims(claims)) == stated


@pytest.mark.parametrize(
    ("image", "claims", "verdict"),
    [
        (HARMLESS, [SITE, BENIGN], "agrees"),
        (HARMLESS, [SITE, NO_CANCER], "agrees"),
        (CANCER, [SITE, MALIGNANT], "agrees"),
        (CANCER, [SITE, BENIGN], "disagrees"),
        (HARMLESS, [SITE, MALIGNANT], "disagrees"),
        (HARMLESS, [SITE], "undecided"),
        (HARMLESS, [SITE, BENIGN, LEFT_OPEN], "undecided"),
        (HARMLESS, [claim("colon tissue", EntityType.SITE), BENIGN], "not_checked"),
        (HARMLESS, [claim("benign lesion", EntityType.DIAGNOSIS)], "not_checked"),
    ],
)
def test_the_check_for_cancer(image: Vectors, claims: list[Claim], verdict: str) -> None:
    check = said_of(slide_of(*[image] * FEW), *claims).cancer
    assert check is not None
    assert check.verdict == verdict


def test_without_limits_a_benign_report_is_not_supported_since_cancer_was_not_checked() -> None:
    malignant = said_of(slide_of(HARMLESS), SITE, MALIGNANT, decisions=decisions_for())
    assert malignant.verdict == "supported"
    found = said_of(slide_of(HARMLESS), SITE, BENIGN, decisions=decisions_for())
    assert (found.verdict, found.cancer and found.cancer.verdict) == ("not_known", "not_checked")
    assert found.value < 0.5


def test_a_carcinoma_that_looks_like_neither_keeps_its_verdict() -> None:
    assert said_of(slide_of(UNCLEAR), SITE, MALIGNANT).verdict == "supported"


def test_few_patches_count_by_their_mean_and_many_by_the_most_malignant() -> None:
    assert malignancy(np.array([0.0, 1.0])) == 0.5
    assert malignancy(np.array([0.0] * 18 + [1.0, 0.5])) == 0.75
