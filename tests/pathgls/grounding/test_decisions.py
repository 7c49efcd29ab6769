"""Limits of grounding: their order, organs against each other, and calibrations in files."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from histoeval.errors import InputError
from histoeval.pathgls.grounding.decisions import (
    ClaimLimits,
    alike,
    organ_scores,
    organs_named,
    read_calibration,
    top_mean,
)
from histoeval.report import EntityType
from tests.support.organ_encoder import TOLD, OrganEncoder, decisions_for, limits_of, patch

scores = st.floats(-5, 5, width=32)


@given(scores, scores, scores)
def test_limits_in_order_part_all_scores_in_three(one: float, two: float, score: float) -> None:
    low, high = sorted((one, two))
    limits = ClaimLimits(slope=1.0, midpoint=0.0, supported=high, contradicted=low)
    expected = "supported" if score >= high else "contradicted" if score <= low else "not_known"
    assert limits.verdict(score) == expected


@pytest.mark.parametrize(
    ("slope", "supported", "why"),
    [(1.0, -1.0, "lies above what is supported"), (0.0, 1.0, "slope"), (-1.0, 1.0, "slope")],
)
def test_limits_that_make_no_sense_are_refused(slope: float, supported: float, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        ClaimLimits(slope=slope, midpoint=0.0, supported=supported, contradicted=0.5)


def test_one_patch_among_hundreds_is_chance() -> None:
    cosines = np.zeros((2, 300))
    cosines[0, 7] = 1.0
    cosines[1, :30] = 1.0
    assert top_mean(cosines) == pytest.approx([1 / 30, 1.0])


@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=14))
def test_of_fewer_than_fifteen_patches_the_best_one_speaks(row: list[float]) -> None:
    assert top_mean(np.array([row])) == pytest.approx([max(row)])


BOWEL = ("appendix", "colon", "duodenum", "intestine")


@pytest.mark.parametrize(
    ("phrase", "organs", "named"),
    [
        ("liver", TOLD, {"liver"}),
        ("hepatocellular carcinoma", TOLD, {"liver"}),
        ("sigmoid colon", TOLD, {"colon"}),
        ("prostate", TOLD, set()),
        ("necrosis", TOLD, None),
        # of organs that hold each other the nearest
        ("colon", BOWEL, {"colon"}),
        ("sigmoid colon", BOWEL, {"colon"}),
        ("rectum", BOWEL, {"intestine"}),
        ("intestine", BOWEL, {"intestine"}),
        ("appendix", BOWEL, {"appendix"}),
        ("small intestine", BOWEL, {"duodenum"}),
    ],
)
def test_organs_of_a_phrase(phrase: str, organs: tuple[str, ...], named: set[str] | None) -> None:
    assert organs_named(phrase, organs) == named


def test_an_organ_is_like_itself_and_its_parts_and_unlike_others() -> None:
    assert alike("colon", "colon")
    assert alike("colon", "intestine")
    assert alike("intestine", "colon")
    assert not alike("colon", "liver")


def test_margins_are_means_over_all_patches() -> None:
    seen = np.stack([patch({"liver": 1.0})] * 3 + [patch({"colon": 1.0})])
    found = organ_scores(seen, OrganEncoder(), TOLD)
    assert found.margin(["liver"]) == pytest.approx((0.5, 0.5))
    assert found.margin(["colon"]) == pytest.approx((-0.5, -0.5))
    assert found.margin(["lung"]) == pytest.approx((-0.75, -0.75))
    assert found.seen(["colon"]).likeliest == "liver"
    assert found.seen(["colon"]).share == 0.75


def test_organs_that_are_hard_to_part_are_no_rivals() -> None:
    seen = np.stack([patch({"colon": 1.0, "liver": 0.5})])
    found = organ_scores(seen, OrganEncoder(), ("colon", "intestine", "liver"))
    assert found.margin(["intestine"]).plain == found.means[1] - found.means[2]
    assert found.margin(["colon"]).plain > 0


def test_what_is_claimed_has_its_handicap_and_its_rivals_have_none() -> None:
    seen = np.stack([patch({"liver": 1.0})] * 3 + [patch({"colon": 1.0})])
    found = organ_scores(seen, OrganEncoder(), TOLD, {"liver": 0.3})
    assert found.margin(["liver"]) == pytest.approx((0.5, 0.2))
    assert found.margin(["colon"]) == pytest.approx((-0.5, -0.5))


def test_the_identity_changes_with_any_limit() -> None:
    one, same = decisions_for(), decisions_for()
    other = decisions_for(tile=one.tile | {EntityType.SITE: limits_of(0.11)})
    assert one.identity == same.identity != other.identity


def test_a_calibration_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "ours.json"
    file.write_text(decisions_for().model_dump_json(indent=2), "utf-8")
    assert read_calibration(file) == decisions_for()


WITHOUT_ORGANS = {EntityType.DIAGNOSIS: limits_of()}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b'{"organs": ["colon"]}',
        decisions_for().model_dump_json().replace("grounding_calibration", "policy").encode(),
        decisions_for().model_dump_json().replace("0.1", "NaN", 1).encode(),
        decisions_for(["colon", "colon"])
        .model_copy(update={"organs": ("colon",)})
        .model_dump_json()
        .encode(),
        *(
            decisions_for().model_copy(update={name: WITHOUT_ORGANS}).model_dump_json().encode()
            for name in ("tile", "slide")
        ),
    ],
    ids="empty torn binary list half another-kind nan one-organ no-tile no-slide".split(),
)
def test_a_broken_calibration_is_refused_with_the_cure(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "ours.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"ours\.json is no calibration.*evaluate grounding"):
        read_calibration(file)


def test_a_missing_calibration_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file"):
        read_calibration(tmp_path / "none.json")
