"""Verdicts: the organ first, then what the report says of it."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import Problem
from histoeval.pathgls.grounding.decisions import Decisions, Judgement
from histoeval.pathgls.grounding.decoys import calibrated
from histoeval.pathgls.grounding.embedded_image import EmbeddedImage
from histoeval.pathgls.grounding.score import ground
from histoeval.pathgls.grounding.verdicts import judge_lesion
from histoeval.pathgls.results import Claim, Grounding
from histoeval.report import EntityType
from tests.support.colour_encoder import STRANGE, claim
from tests.support.organ_encoder import OrganEncoder, decisions_for, limits_of, patch, slide_of

SITE, DIAGNOSIS = EntityType.SITE, EntityType.DIAGNOSIS
LIVER_CANCER = patch({"liver": 1.0, "carcinoma": 1.0})
PLAIN_LIVER = patch({"liver": 1.0, "other": 0.5})
shares = st.floats(0, 1)


def said_of(
    image: EmbeddedImage, *claims: Claim, decisions: Decisions | None = None
) -> Grounding | Problem:
    return ground(image, claims, OrganEncoder(), STRANGE, decisions or decisions_for())


def judged(image: EmbeddedImage, *claims: Claim, decisions: Decisions | None = None) -> Grounding:
    found = said_of(image, *claims, decisions=decisions)
    assert isinstance(found, Grounding), found
    return found


def report_of(organ: str, diagnosis: str = "carcinoma") -> tuple[Claim, Claim]:
    return claim(organ, SITE), claim(diagnosis, DIAGNOSIS)


@given(stands=st.floats(-9, 9), organ=shares, behaviour=shares)
def test_organ_and_behaviour_cap_a_lesion(stands: float, organ: float, behaviour: float) -> None:
    limits, place = limits_of(1.0, 0.0), [Judgement(organ, "supported")]
    own = calibrated(stands, limits)
    there = judge_lesion(stands, limits, place).value
    assert there <= own
    assert (there >= 0.5) == (own >= 0.5 and organ >= 0.5)
    so = judge_lesion(stands, limits, place, Judgement(behaviour, "not_known")).value
    assert 0 <= so <= there
    assert so == there or behaviour < 0.5


@pytest.mark.parametrize("count", [1, 4, 5, 300])
@pytest.mark.parametrize("diagnosis", ["carcinoma", "hepatocellular carcinoma", "necrosis"])
@pytest.mark.parametrize("organ", ["colon", "lung"])
def test_another_organ_is_never_supported(organ: str, diagnosis: str, count: int) -> None:
    """The carcinoma is there, plain as day; it is one of the liver."""
    found = judged(slide_of(*[LIVER_CANCER] * count), *report_of(organ, diagnosis))
    assert found.verdict == "contradicted"
    assert found.supports[0].verdict == "contradicted"
    assert found.value < 0.5
    assert "looks like liver" in found.why
    assert organ in found.why


LUNG_CANCER = patch({"lung": 1.0, "carcinoma": 1.0})
LIVER, LUNG = slide_of(*[LIVER_CANCER] * 20), slide_of(*[LUNG_CANCER] * 20)
HALF_AND_HALF = slide_of(*[LIVER_CANCER] * 11, *[LUNG_CANCER] * 10)
UNCLEAR = slide_of(patch({"liver": 1.0, "colon": 0.95, "carcinoma": 1.0}))
NECROTIC = slide_of(*[patch({"liver": 1.0, "carcinoma": 1.0, "necrosis": 1.0})] * 20)
IN_LIVER, IN_LUNG = (claim(f"carcinoma of the {organ}", DIAGNOSIS) for organ in ("liver", "lung"))
IN_COLON = claim("adenoma of the colon", DIAGNOSIS)


@pytest.mark.parametrize(
    ("image", "claims", "verdicts", "why"),
    [
        (LIVER, report_of("liver"), "ss s", ""),
        # any carcinoma would fit it: nothing ties it to this patient
        (LIVER, [claim("carcinoma", DIAGNOSIS)], "n n", "names no organ"),
        (LIVER, [claim("hepatocellular carcinoma", DIAGNOSIS)], "s s", ""),
        (LUNG, [claim("hepatocellular carcinoma", DIAGNOSIS)], "c c", ""),
        # it arises in the lung too, and a report on the liver stays one
        (LUNG, report_of("liver", "squamous cell carcinoma"), "cc c", ""),
        (UNCLEAR, report_of("liver"), "nn n", "looks most like liver, but not clearly enough"),
        (HALF_AND_HALF, [IN_LIVER, claim("lung tissue", SITE)], "nn n", ""),
        (LIVER, [*report_of("liver"), claim("prostate", SITE)], "ssn s", "the place of prostate"),
        (LIVER, [*report_of("liver"), claim("margin", SITE)], "ssn s", "no organ that could be"),
        (LUNG, [IN_LUNG, claim("lymph node tissue", SITE)], "sn s", ""),
        (LIVER, [claim(organ, SITE) for organ in ("liver", "colon", "lung")], "scc c", ""),
        (slide_of(*[PLAIN_LIVER] * 20), [claim("liver", SITE)], "s n", ""),
        (slide_of(*[PLAIN_LIVER] * 20), report_of("liver"), "sc c", ""),
        (LIVER, [IN_LIVER, IN_COLON], "sn n", "looks like liver, which the report names beside"),
        (LIVER, [IN_COLON], "c c", ""),
        # where a finding reaches is no specimen
        (NECROTIC, [IN_LIVER, claim("necrosis in the lung")], "ss s", ""),
        (NECROTIC, [IN_LIVER, claim("necrosis in the prostate")], "ss s", ""),
    ],
)
def test_each_claim_and_the_report_have_a_verdict(
    image: EmbeddedImage, claims: Sequence[Claim], verdicts: str, why: str
) -> None:
    found = judged(image, *claims)
    initials = "".join(str(support.verdict)[0] for support in found.supports)
    assert f"{initials} {str(found.verdict)[0]}" == verdicts
    assert (found.value < 0.5) == (found.verdict != "supported")
    assert why in " | ".join([found.why, *(support.why for support in found.supports)])


@pytest.mark.parametrize("diagnosis", ["carcinoma", "squamous cell carcinoma"])
def test_an_organ_that_cannot_be_told_is_not_vouched_for_by_morphology(diagnosis: str) -> None:
    image = slide_of(*[patch({"lung": 1.0, "carcinoma": 1.0})] * 20)
    found = said_of(image, *report_of("prostate", diagnosis))
    assert isinstance(found, Problem)
    assert found.code == "grounding_unknown"
    assert "has not been shown to tell" in found.message
    assert "prostate" in found.message


def test_a_lesion_of_an_organ_that_cannot_be_told_hides_behind_no_other_claim() -> None:
    image = slide_of(*[patch({"lung": 1.0, "carcinoma": 1.0, "necrosis": 0.5})] * 20)
    lesion = claim("squamous cell carcinoma of the skin", DIAGNOSIS)
    found = said_of(image, lesion, claim("necrosis"))
    assert isinstance(found, Problem)
    assert "of the skin" in found.message


def test_a_report_without_an_organ_can_be_contradicted() -> None:
    strict = decisions_for().tile | {DIAGNOSIS: limits_of(9.0, 8.0)}
    found = judged(
        slide_of(PLAIN_LIVER), claim("carcinoma", DIAGNOSIS), decisions=decisions_for(tile=strict)
    )
    assert found.verdict == "contradicted"
    assert "carcinoma: the image shows" in found.why


@given(st.lists(st.tuples(shares, shares, shares), min_size=1, max_size=20))
def test_what_is_supported_has_patches_that_agree(shown: list[tuple[float, float, float]]) -> None:
    """However the patches are mixed; an organ may be the second best in each of them."""
    image = slide_of(
        *(
            patch({"liver": 0.1 + a, "colon": b, "lung": c, "carcinoma": a, "other": 0.5})
            for a, b, c in shown
        )
    )
    found = judged(image, *report_of("liver"))
    for support in found.supports:
        if support.verdict == "supported":
            assert support.agreeing is not None
            assert 0 < support.agreeing <= len(shown)


def test_an_organ_that_is_nowhere_the_likeliest_can_be_so_over_all_patches() -> None:
    colon, lung = ({"liver": 1.0, other: 1.1, "other": 0.5} for other in ("colon", "lung"))
    found = judged(slide_of(patch(colon), patch(lung)), claim("liver", SITE))
    (liver,) = found.supports
    assert (liver.verdict, liver.agreeing) == ("supported", 1)


def test_parts_of_the_bowel_are_seen_together() -> None:
    organs = ("appendix", "colon", "liver")
    image = slide_of(*[patch({"colon": 1.0, "carcinoma": 1.0})] * 20)
    claims = claim("carcinoma of the colon", DIAGNOSIS), claim("appendix tissue", SITE)
    found = judged(image, *claims, decisions=decisions_for(organs))
    assert found.organ is not None
    assert found.organ.claimed == ("appendix", "colon")
    assert "appendix" not in found.why, "the colon is seen, and hard to part from the appendix"


def test_where_the_organ_decides_its_patches_are_counted() -> None:
    """The carcinoma is in every patch, and none of them looks like the lung."""
    found = judged(slide_of(*[LIVER_CANCER] * 20), *report_of("lung"))
    assert [(each.verdict, each.agreeing) for each in found.supports] == [("contradicted", 0)] * 2
    site, carcinoma = (each.value for each in found.supports)
    assert carcinoma == site, "no more than the organ of the report"


def test_one_hot_patch_of_three_hundred_supports_nothing() -> None:
    hot = slide_of(LIVER_CANCER, *[PLAIN_LIVER] * 299)
    found = judged(hot, *report_of("liver"))
    site, carcinoma = found.supports
    assert site.verdict == "supported"
    assert carcinoma.verdict != "supported"
    assert carcinoma.cosine == pytest.approx(0.7071, abs=1e-3), "the best patch is still shown"
    assert carcinoma.agreeing == 1
    alone = judged(slide_of(LIVER_CANCER), *report_of("liver"))
    assert alone.supports[1].verdict == "supported"
    tenth = judged(slide_of(*[LIVER_CANCER] * 30, *[PLAIN_LIVER] * 270), *report_of("liver"))
    assert tenth.supports[1].verdict == "supported"


@pytest.mark.parametrize(("count", "verdict"), [(4, "supported"), (5, "not_known")])
def test_few_patches_have_the_limits_of_tiles(count: int, verdict: str) -> None:
    strict = decisions_for().tile | {SITE: limits_of(0.99)}
    found = judged(
        slide_of(*[LIVER_CANCER] * count),
        *report_of("liver"),
        decisions=decisions_for(slide=strict),
    )
    assert found.verdict == verdict


def test_a_kind_of_claim_that_was_never_measured_is_not_known() -> None:
    kinds = {kind: each for kind, each in decisions_for().tile.items() if kind != DIAGNOSIS}
    found = judged(
        slide_of(*[LIVER_CANCER] * 20),
        *report_of("liver"),
        decisions=decisions_for(tile=kinds, slide=kinds),
    )
    assert found.supports[1].verdict == "not_known"
    assert "(diagnosis) were never validated" in found.supports[1].why
    assert found.verdict == "not_known", "the liver is seen, and nothing is known of the diagnosis"


def test_an_encoder_that_nobody_validated_knows_nothing() -> None:
    found = ground(slide_of(*[LIVER_CANCER] * 20), report_of("liver"), OrganEncoder(), STRANGE)
    assert isinstance(found, Grounding)
    assert found.verdict == "not_known"
    assert "evaluate grounding --calibration FILE" in found.why
    assert found.organ is None
    assert all(each.verdict is None for each in found.supports)


def test_limits_of_ones_own_count_more_than_those_of_the_encoder() -> None:
    class Deciding(OrganEncoder):
        decisions = decisions_for(
            tile=decisions_for().tile | {SITE: limits_of(0.99)},
            slide=decisions_for().tile | {SITE: limits_of(0.99)},
        )

    image, claims = slide_of(*[LIVER_CANCER] * 20), report_of("liver")
    shipped = ground(image, claims, Deciding(), STRANGE)
    own = ground(image, claims, Deciding(), STRANGE, decisions_for())
    assert isinstance(shipped, Grounding)
    assert isinstance(own, Grounding)
    assert (shipped.verdict, own.verdict) == ("not_known", "supported")
    assert shipped.signature != own.signature
    assert shipped.raw == own.raw
