"""Decoys claims: which phrases are foreign to a report, and how a cosine stands among theirs."""

import math
import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.pathgls.grounding.decoys import (
    FEWEST,
    Decoy,
    Decoys,
    builtin_decoys,
    calibrated,
    meaning_of,
    standing,
)
from histoeval.pathgls.grounding.encoder import ClaimCalibration
from histoeval.pathgls.results import Claim
from histoeval.report import Assertion, EntityType
from tests.support.colour_encoder import claim

DIAGNOSIS, FINDING, SITE = EntityType.DIAGNOSIS, EntityType.FINDING, EntityType.SITE


def test_the_list_is_long_covers_all_kinds_and_says_nothing_twice() -> None:
    phrases = builtin_decoys().phrases
    kinds = Counter(each.type for each in phrases)
    assert len(phrases) >= 150
    assert min(kinds[kind] for kind in (DIAGNOSIS, FINDING, SITE)) > 2 * FEWEST
    assert len({each.phrase for each in phrases}) == len(phrases)
    assert len({each.family for each in phrases}) >= 15


def test_the_catalogues_know_what_every_phrase_of_the_list_names() -> None:
    for each in builtin_decoys().phrases:
        meant = meaning_of(each.phrase)
        known = {DIAGNOSIS: meant.diagnosis, FINDING: meant.findings, SITE: meant.sites}
        assert known[each.type], each.phrase


@pytest.mark.parametrize(
    ("said", "kind", "out", "kept"),
    [
        (
            claim("adenocarcinoma of the colon", DIAGNOSIS),
            DIAGNOSIS,
            "adenocarcinoma of the colon",
            "ulcerative colitis",  # another disease of the same organ is foreign
        ),
        (
            claim("colonic adenocarcinoma", DIAGNOSIS),
            DIAGNOSIS,
            "adenocarcinoma of the colon",
            "psoriasis",
        ),
        (
            claim("carcinoma of the breast", DIAGNOSIS),
            DIAGNOSIS,
            "invasive lobular carcinoma of the breast",
            "lipoma",
        ),
        (claim("gleason 7 carcinoma of prostate", SITE), SITE, "prostate tissue", "lung tissue"),
        (claim("hepatocellular carcinoma", SITE), SITE, "liver tissue", "skin tissue"),
        (claim("koilocytosis"), FINDING, "koilocytes", "psammoma bodies"),
        # what is denied or left open is not foreign either
        (claim("psoriasis", DIAGNOSIS, Assertion.ABSENT), DIAGNOSIS, "psoriasis", "lipoma"),
    ],
)
def test_what_is_foreign_to_a_claim(said: Claim, kind: EntityType, out: str, kept: str) -> None:
    foreign = builtin_decoys().to([said, claim("necrosis")], kind)
    assert out not in foreign
    assert any(kept in phrase for phrase in foreign)


def test_phrases_are_those_of_a_kind_or_of_all() -> None:
    made = Decoys([Decoy("thing", FINDING, "x"), Decoy("lung tissue", SITE, "x")])
    assert made.to([], SITE) == ("lung tissue",)
    assert made.to([]) == ("thing", "lung tissue")
    assert made.to([claim("lung", SITE)]) == ("thing",)


def test_the_identity_changes_with_any_phrase() -> None:
    one, other = (Decoys([Decoy(name, SITE, "x")]) for name in ("lung", "liver"))
    assert one.identity != other.identity
    assert one.identity == Decoys(one.phrases).identity


@given(st.floats(-1, 1), st.lists(st.floats(-1, 1), min_size=3).filter(lambda x: np.std(x) > 1e-3))
def test_the_standing_is_in_standard_deviations(cosine: float, foreign: list[float]) -> None:
    stands = standing(cosine, np.array(foreign))
    expected = (cosine - statistics.fmean(foreign)) / statistics.pstdev(foreign)
    assert stands == pytest.approx(expected, abs=1e-6, rel=1e-6)


def test_there_is_no_standing_among_equals() -> None:
    assert standing(0.4, np.full(20, 0.3)) is None


def test_the_value_is_a_half_at_the_midpoint_and_rises_with_the_standing() -> None:
    curve = ClaimCalibration(slope=2.0, midpoint=1.0)
    values = [calibrated(z, curve) for z in (-1e6, 0.0, 1.0, 2.0, 1e6)]
    assert values == sorted(values)
    assert values[2] == 0.5
    assert values[1] == pytest.approx(1 / (1 + math.e**2))
    assert 0 <= values[0] < 1e-9
    assert 1 - 1e-9 < values[-1] <= 1
