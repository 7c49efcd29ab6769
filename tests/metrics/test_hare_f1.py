from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from histoeval.align.aligner import Vectors, unit
from histoeval.metrics.hare_f1 import (
    FULL,
    NONE,
    entity_agreement,
    harmonic_mean,
    nearest,
    relation_agreement,
)

NOTHING: Vectors = np.zeros((0, 2), dtype=np.float32)
EAST, NORTH = np.eye(2, dtype=np.float32)
BETWEEN = np.array([0.6, 0.8], dtype=np.float32)

rows = arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.just(4)),
    elements=st.floats(-1, 1, width=32).filter(lambda x: abs(x) > 0.01),
).map(unit)


def test_each_entity_takes_its_best_match_and_sides_are_averaged_apart() -> None:
    agreement = entity_agreement(np.stack([EAST, NORTH]), np.stack([BETWEEN]))
    assert agreement.recall == pytest.approx((0.6 + 0.8) / 2)
    assert agreement.precision == pytest.approx(0.8)
    assert agreement.f1 == pytest.approx(2 * 0.7 * 0.8 / 1.5)


def test_nothing_on_both_sides_is_full_agreement_and_on_one_side_none() -> None:
    some = np.stack([EAST])
    assert entity_agreement(NOTHING, NOTHING) == FULL
    assert entity_agreement(some, NOTHING) == NONE
    assert entity_agreement(NOTHING, some) == NONE
    assert relation_agreement(set(), set()) == FULL
    assert relation_agreement({1}, set()) == NONE
    assert relation_agreement(set(), {1}) == NONE


def test_opposite_entities_do_not_score_below_zero() -> None:
    assert entity_agreement(np.stack([EAST]), np.stack([-EAST])).f1 == 0.0


def test_relations_agree_as_sets_do() -> None:
    agreement = relation_agreement({"a", "b", "c", "d"}, {"a", "b", "x"})
    assert agreement.precision == pytest.approx(2 / 3)
    assert agreement.recall == pytest.approx(1 / 2)
    assert agreement.f1 == pytest.approx(4 / 7)


@given(rows)
def test_a_report_agrees_fully_with_itself(vectors: Vectors) -> None:
    assert entity_agreement(vectors, vectors).f1 == pytest.approx(1.0, abs=1e-5)


@given(rows, rows)
def test_swapping_sides_swaps_precision_and_recall(left: Vectors, right: Vectors) -> None:
    there, back = entity_agreement(left, right), entity_agreement(right, left)
    assert there.precision == pytest.approx(back.recall, abs=1e-6)
    assert there.f1 == pytest.approx(back.f1, abs=1e-6)


@given(rows, rows)
@settings(suppress_health_check=[HealthCheck.filter_too_much])
def test_nearest_is_the_largest_cosine_of_all_rows(left: Vectors, right: Vectors) -> None:
    found = nearest(left, right)
    for row, position, cosine in zip(left, found.position, found.cosine, strict=True):
        every = [float(row @ other) for other in right]
        assert cosine == pytest.approx(max(every), abs=1e-6)
        assert every[position] == pytest.approx(max(every), abs=1e-6)


def test_many_rows_are_compared_in_bounded_pieces() -> None:
    random = np.random.default_rng(0)
    many = unit(random.normal(size=(5000, 8)).astype(np.float32))
    assert (nearest(many, many).position == np.arange(5000)).all()


@given(rows, rows)
def test_f1_stays_between_0_and_1_whatever_the_cosines(left: Vectors, right: Vectors) -> None:
    assert 0.0 <= entity_agreement(left, right).f1 <= 1.0 + 1e-6


def test_precision_and_recall_of_opposite_signs_give_no_agreement() -> None:
    assert harmonic_mean(-0.075, 0.1) == 0.0
