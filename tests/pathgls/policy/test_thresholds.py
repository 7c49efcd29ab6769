"""Thresholds, held against trying every one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.pathgls.policy.tuning import Costs, Target, Thresholds, set_thresholds

COUNTED = Target(confidence=0.5)
"""Shares as they were counted, without an interval."""

rows = st.lists(
    st.tuples(st.integers(0, 10).map(lambda n: n / 10), st.booleans(), st.booleans()),
    min_size=1,
    max_size=12,
)


def found(told: list[tuple[float, bool, bool]], aim: Target | Costs) -> Thresholds:
    trust, wrong, may = (np.array(column) for column in zip(*told, strict=True))
    return set_thresholds(trust, wrong, may, aim)


def sent(told: list[tuple[float, bool, bool]], at: Thresholds) -> tuple[list[bool], list[bool]]:
    """Whether each of the deployed is wrong, and each of the rejected."""
    top = 2.0 if at.deploy_from is None else at.deploy_from
    deployed = [wrong for trust, wrong, may in told if may and trust >= top]
    return deployed, [wrong for trust, wrong, _ in told if trust < at.reject_below]


def pairs() -> list[Thresholds]:
    cuts = [n / 20 for n in range(21)]
    return [Thresholds(d, r) for d in [*cuts, None] for r in cuts if d is None or r <= d]


@given(rows)
def test_no_thresholds_cost_less(told: list[tuple[float, bool, bool]]) -> None:
    costs = Costs(missed=7, review=1, lost=3)

    def cost(at: Thresholds) -> float:
        deployed, rejected = sent(told, at)
        reviewed = len(told) - len(deployed) - len(rejected)
        return 7 * sum(deployed) + reviewed + 3 * sum(not wrong for wrong in rejected)

    assert cost(found(told, costs)) <= min(map(cost, pairs())) + 1e-9


@given(rows, st.sampled_from([0.0, 0.1, 0.3]))
def test_no_other_threshold_deploys_more_within_the_share(
    told: list[tuple[float, bool, bool]], most: float
) -> None:
    at = found(told, Target(wrong_deployed=most, right_rejected=most, confidence=0.5))
    deployed, rejected = sent(told, at)
    assert sum(deployed) <= most * len(deployed)
    assert sum(not wrong for wrong in rejected) <= most * len(rejected)
    for other in pairs():
        more, _ = sent(told, other)
        if sum(more) <= most * len(more):
            assert len(more) <= len(deployed)


def test_the_share_is_kept_where_all_but_a_trust_of_1_can_be_rejected() -> None:
    told = [(0.0, False, False), (0.0, True, False), (0.0, True, False), (1.0, True, False)]
    at = found(told, Target(right_rejected=0.3, confidence=0.5))
    _, rejected = sent(told, at)
    assert sum(not wrong for wrong in rejected) <= 0.3 * len(rejected)


def test_a_floor_takes_a_wrong_report_out_of_what_would_be_deployed() -> None:
    told = [(0.9, True, True), (0.8, False, True)]
    assert found(told, COUNTED).deploy_from is None
    told[0] = (0.9, True, False)
    at = found(told, COUNTED).deploy_from
    assert at is not None
    assert at <= 0.8


def test_confidence_asks_for_more_examples() -> None:
    few = [(0.9, False, True)] * 10
    many = [(0.9, False, True)] * 60
    assert found(few, COUNTED).deploy_from == 0.0
    assert found(few, Target()).deploy_from is None
    assert found(many, Target()).deploy_from == 0.0  # 0.05 ** (1 / 60) is 0.951


def test_thresholds_are_short_numbers_between_the_examples() -> None:
    told = [(0.41, True, True), (0.46, True, True), (0.7312, False, True), (0.9, False, True)]
    at = found(told, COUNTED)
    assert at.deploy_from == at.reject_below == pytest.approx(0.6)
    assert len(str(at.deploy_from)) <= 4


def test_where_few_may_be_deployed_the_rest_can_still_be_rejected() -> None:
    trust = np.array([0.1, 0.2, 0.3, 0.4, 0.8, 0.9])
    wrong = np.array([True, True, True, False, False, False])
    may_deploy = np.array([False, False, False, False, True, True])
    found = set_thresholds(trust, wrong, may_deploy, COUNTED)
    assert found.deploy_from is not None
    assert 0.4 < found.deploy_from <= 0.8
    assert 0.3 < found.reject_below <= 0.4
