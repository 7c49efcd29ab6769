"""The sum of the paper, what is missing, and the verdict."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.pathgls import fusion
from histoeval.pathgls.fusion import Trust
from histoeval.pathgls.policy.policy import DimensionWeights, Floors, Policy
from histoeval.pathgls.results import CancerCheck

PAPER = DimensionWeights(grounding=0.4, logic=0.3, stability=0.3)
POLICY = Policy(weights=PAPER, deploy_from=0.75, reject_below=0.5)

AGREES = CancerCheck(stated="malignant", verdict="agrees", why="the tissue looks malignant")
fuse = partial(fusion.fuse, cancer=AGREES)

shares = st.floats(0, 1)
parts = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted)


def trust(
    grounding: float | None, logic: float | None, stability: float | None, policy: Policy = POLICY
) -> Trust:
    return fuse(grounding, logic, stability, policy.weights, policy)


@given(shares, shares, shares, parts)
def test_trust_is_the_sum_of_the_paper(g: float, lo: float, s: float, cut: list[int]) -> None:
    shares_of_20 = (cut[0], cut[1] - cut[0], 20 - cut[1])
    weights = DimensionWeights(
        grounding=shares_of_20[0] / 20, logic=shares_of_20[1] / 20, stability=shares_of_20[2] / 20
    )
    exact = sum(
        Fraction(x) * Fraction(w, 20) for x, w in zip((g, lo, s), shares_of_20, strict=True)
    )
    found = fuse(g, lo, s, weights, POLICY)
    assert found.value == pytest.approx(float(exact), abs=1e-12)
    assert found.low == found.high == found.value


def test_the_published_table_is_the_sum_to_its_two_digits() -> None:
    table = [(0.38, 0.96, 0.30, 0.53), (0.49, 0.91, 0.40, 0.59), (0.73, 0.97, 0.75, 0.80)]
    for g, lo, s, printed in table:
        value = trust(g, lo, s).value
        assert value is not None
        assert abs(value - printed) < 0.011


@given(shares, shares, shares)
def test_a_missing_dimension_leaves_bounds_that_hold_whatever_it_would_be(
    g: float, lo: float, s: float
) -> None:
    whole, part = trust(g, lo, s), trust(g, None, s)
    assert part.value is None
    assert part.missing == ("logic",)
    assert part.low - 1e-12 <= whole.low <= part.high + 1e-12
    assert part.high - part.low == pytest.approx(0.3)
    assert part.route != "deploy"


def test_with_everything_missing_a_person_looks() -> None:
    found = trust(None, None, None)
    assert (found.value, found.low, found.high, found.route) == (None, 0.0, 1.0, "review")
    assert found.missing == ("grounding", "logic", "stability")


def test_what_is_too_low_whatever_is_missing_is_rejected() -> None:
    found = trust(0.1, 0.2, None)
    assert found.high == pytest.approx(0.4)
    assert found.route == "reject"
    assert "stability" in found.reason
    assert trust(0.9, 0.9, None).route == "review"


def test_thresholds_are_met_at_their_very_value() -> None:
    assert trust(0.75, 0.75, 0.75).route == "deploy"
    assert trust(0.7499, 0.75, 0.75).route == "review"
    assert trust(0.5, 0.5, 0.5).route == "review"
    assert trust(0.4999, 0.5, 0.5).route == "reject"


def test_a_floor_keeps_a_report_from_being_deployed_and_says_so() -> None:
    floored = POLICY.model_copy(update={"floors": Floors(logic=0.5)})
    assert trust(1.0, 0.4, 1.0).route == "deploy"
    found = trust(1.0, 0.4, 1.0, policy=floored)
    assert found.route == "review"
    assert "logic 0.400 is below its floor 0.5" in found.reason
    assert trust(1.0, 0.5, 1.0, policy=floored).route == "deploy"


def test_a_policy_may_deploy_nothing() -> None:
    never = POLICY.model_copy(update={"deploy_from": None})
    assert trust(1.0, 1.0, 1.0, policy=never).route == "review"


def test_a_dimension_that_the_policy_does_not_ask_is_not_missed() -> None:
    policy = Policy(
        weights=DimensionWeights(grounding=0.6, logic=0.4, stability=0.0),
        deploy_from=0.8,
        reject_below=0.5,
    )
    found = trust(0.9, 0.9, None, policy=policy)
    assert found.missing == ()
    assert found.value == pytest.approx(0.9)
    assert found.route == "deploy"


def test_a_floor_on_a_dimension_without_weight_must_be_known_to_be_met() -> None:
    policy = Policy(
        weights=DimensionWeights(grounding=0.6, logic=0.4, stability=0.0),
        deploy_from=0.8,
        reject_below=0.5,
        floors=Floors(stability=0.5),
    )
    found = trust(0.9, 0.9, None, policy=policy)
    assert found.missing == ("stability",)
    assert found.value == pytest.approx(0.9)
    assert found.route == "review"


def test_weights_given_beside_the_policy_are_used() -> None:
    found = fuse(1.0, 0.2, 0.0, DimensionWeights(grounding=1.0, logic=0.0, stability=0.0), POLICY)
    assert found.value == 1.0
    assert found.route == "deploy"


def test_few_known_claims_do_not_deploy_a_report() -> None:
    careful = POLICY.model_copy(update={"claims_known": 0.5})
    few = fuse(1.0, 1.0, 1.0, PAPER, careful, claims_known=0.25)
    assert few.route == "review"
    assert few.value == 1.0
    assert "only 25% of the claims" in few.reason
    assert fuse(1.0, 1.0, 1.0, PAPER, careful, claims_known=0.5).route == "deploy"
    assert fuse(1.0, 1.0, 1.0, PAPER, careful).route == "deploy"
    assert fuse(0.1, 0.1, 0.1, PAPER, careful, claims_known=0.25).route == "reject"
