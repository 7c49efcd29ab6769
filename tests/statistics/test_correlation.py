import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from histoeval.errors import SettingError
from histoeval.statistics.correlation import (
    Coefficient,
    classical_p,
    correlate,
    correlate_within,
    scores_of,
    weighted,
)
from histoeval.statistics.resampling import Estimate, Numbers, Resamples, resample

SCIPY = {
    Coefficient.PEARSON: stats.pearsonr,
    Coefficient.SPEARMAN: stats.spearmanr,
    Coefficient.KENDALL: stats.kendalltau,
}
each_coefficient = pytest.mark.parametrize("coefficient", list(Coefficient))


def alone(n: int) -> Resamples:
    """Every row a case of its own, drawn a few times."""
    return resample(range(n), 50)


def scored(rows: int, seed: int) -> tuple[Numbers, Numbers]:
    """A metric and experts with a few levels, many of them alike."""
    source = np.random.default_rng(seed)
    expert = np.clip(np.round(source.normal(0.5, 1.5, rows)), 0, 5)
    return np.round(expert + source.normal(0, 2, rows), 1), expert


@each_coefficient
@pytest.mark.parametrize("seed", range(5))
def test_values_and_classical_p_are_those_of_scipy(coefficient: Coefficient, seed: int) -> None:
    metric, expert = scored(90, seed)
    theirs = SCIPY[coefficient](metric, expert)
    found = correlate(coefficient, metric, expert, alone(90))
    assert found.value == pytest.approx(theirs.statistic, abs=1e-12)
    assert classical_p(coefficient, metric, expert) == pytest.approx(theirs.pvalue, rel=1e-9)


@each_coefficient
@pytest.mark.parametrize("per_case", [1, 3])
def test_a_resample_has_the_value_of_its_rows(coefficient: Coefficient, per_case: int) -> None:
    metric, expert = scored(60, 7)
    case = np.arange(60) // per_case
    times = resample(case.tolist(), 40, seed=3).times.astype(float)
    found = weighted(coefficient, metric, expert, case, len(times))(times)
    for place, value in enumerate(found):
        rows = np.repeat(np.arange(60), times[case, place].astype(int))
        assert value == pytest.approx(SCIPY[coefficient](metric[rows], expert[rows])[0], abs=1e-9)


@each_coefficient
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=4, max_size=25),
    st.floats(-1e6, 1e6),
)
@settings(max_examples=60, deadline=None)
def test_any_scores_have_the_value_of_scipy_or_a_reason(
    coefficient: Coefficient, rows: list[tuple[int, int]], shift: float
) -> None:
    metric, expert = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    found = correlate(coefficient, metric + shift, expert, alone(len(rows)))
    if np.ptp(metric) == 0 or np.ptp(expert) == 0:
        assert found.value is None
        assert found.reason
    else:
        assert found.value == pytest.approx(SCIPY[coefficient](metric, expert)[0], abs=1e-8)


@each_coefficient
@pytest.mark.parametrize(
    ("metric", "expert", "word"),
    [
        ([1, 2, 3], [1, 2, 3], "3 pairs"),
        ([2], [1], "1 pair only"),
        ([], [], "0 pairs"),
        ([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3], [1, 2, 3, 4, 5], "metric"),
        ([1, 2, 3, 4, 5], [2, 2, 2, 2, 2], "experts"),
        ([0, 0, 0, 0], [0, 0, 0, 0], "metric"),
    ],
)
def test_what_has_no_correlation_has_a_reason_and_no_number(
    coefficient: Coefficient, metric: list[float], expert: list[float], word: str
) -> None:
    found = correlate(coefficient, metric, expert, alone(len(metric)))
    assert found == Estimate(reason=found.reason)
    assert word in str(found.reason)
    assert classical_p(coefficient, metric, expert) is None


@each_coefficient
def test_one_case_has_a_value_and_no_interval(coefficient: Coefficient) -> None:
    metric, expert = scored(30, 1)
    found = correlate(coefficient, metric, expert, resample(["a"] * 30, 100))
    assert found.value == pytest.approx(SCIPY[coefficient](metric, expert)[0])
    assert found.low is found.high is found.p is None
    assert "one case" in str(found.reason)


@each_coefficient
def test_a_metric_with_one_score_that_differs_has_no_interval(coefficient: Coefficient) -> None:
    metric = np.zeros(30)
    metric[4] = 1
    found = correlate(coefficient, metric, np.arange(30) % 5, resample(range(30), 300))
    assert (found.value is None, found.low) == (False, None)
    assert "constant" in str(found.reason)


@each_coefficient
def test_perfect_agreement_is_one_from_end_to_end(coefficient: Coefficient) -> None:
    scores = np.arange(20.0)
    found = correlate(coefficient, scores, scores * 3 + 1, resample(range(20), 500))
    assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))
    assert 0 < found.p < 0.02  # type: ignore[operator]


@pytest.mark.parametrize("bad", [[1.0, float("nan"), 2, 3], [1.0, float("inf"), 2, 3], [1.0, 2]])
def test_scores_that_are_no_columns_of_numbers_are_refused(bad: list[float]) -> None:
    with pytest.raises(SettingError, match="scores must be"):
        correlate(Coefficient.PEARSON, bad, [1, 2, 3, 4], alone(4))


def test_within_cases_is_the_mean_of_what_each_case_has() -> None:
    metric, expert = scored(60, 5)
    case = np.arange(60) // 5
    expert[:5] = 2
    each = [
        stats.spearmanr(metric[case == one], expert[case == one]).statistic
        for one in range(1, 12)
        if np.ptp(expert[case == one]) > 0
    ]
    found = correlate_within(
        Coefficient.SPEARMAN, metric, expert, case.tolist(), resample(case.tolist(), 400)
    )
    assert found.value == pytest.approx(np.mean(each), abs=1e-12)
    assert found.low < np.mean(each) < found.high


def test_within_groups_that_span_cases_is_refused() -> None:
    with pytest.raises(SettingError, match="span"):
        correlate_within(Coefficient.PEARSON, [1, 2, 3, 4], [1, 2, 2, 4], "aabb", alone(4))


def test_groups_in_which_nothing_varies_have_a_reason() -> None:
    draws = resample("aabb", 20)
    found = correlate_within(Coefficient.KENDALL, [1, 1, 2, 2], [1, 2, 3, 4], "aabb", draws)
    assert found == Estimate(reason="in no group do both scores vary")


@pytest.mark.parametrize("size", [1.0, 100.0])
def test_ranks_do_not_see_the_noise_of_float32(size: float) -> None:
    """Two machines that compute the same scores rank them alike, and ties stay ties."""
    source = np.random.default_rng(5)
    expert = source.integers(0, 5, 200).astype(float)
    exact = size * np.round(source.uniform(0, 1, 200), 1)
    noisy = exact + size * source.normal(scale=1e-8, size=200)
    for coefficient in Coefficient:
        here, there = (correlate(coefficient, each, expert, alone(200)) for each in (exact, noisy))
        assert there.value == pytest.approx(here.value, abs=1e-7)
        assert there.high == pytest.approx(here.high, abs=1e-7)


def test_scores_that_differ_by_more_than_noise_are_left_as_they_are() -> None:
    scores = np.array([0.3, 0.1, 0.1 + 1e-6, 0.0, -0.2])
    assert scores_of(scores)[0] is scores
