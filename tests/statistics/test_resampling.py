import os
import time

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from histoeval.errors import SettingError
from histoeval.statistics.correlation import Coefficient, correlate
from histoeval.statistics.resampling import Numbers, interval, p_value, pair_sums, resample

RUNS = int(os.environ.get("HISTOEVAL_SIMULATIONS", "200"))
"""Simulations of each kind; 1,000 and more are for docs and releases."""


def test_as_many_cases_are_drawn_as_there_are() -> None:
    draws = resample("abbcccd", 500, seed=1)
    assert draws.case.tolist() == [0, 1, 1, 2, 2, 2, 3]
    assert draws.times.shape == (4, 500)
    assert (draws.times.sum(axis=0) == 4).all()
    assert draws.times.mean(axis=1) == pytest.approx(1, abs=0.15)
    assert draws.times.var(axis=1) == pytest.approx(0.75, abs=0.15)


def test_a_seed_means_the_same_draws_and_another_means_others() -> None:
    one, same, other = (resample(range(30), 60, seed).times for seed in (4, 4, 5))
    assert (one == same).all()
    assert (one != other).any()


def test_no_resamples_are_refused() -> None:
    with pytest.raises(SettingError, match="give 1 or more"):
        resample("abc", 0)


def test_some_rows_keep_the_draws_of_their_cases() -> None:
    draws = resample("aabbc", 10)
    some = draws.of(np.array([False, True, False, True, True]))
    assert some.case.tolist() == [0, 1, 2]
    assert some.times is draws.times


def test_sums_over_pairs_are_those_of_the_rows_written_out() -> None:
    source = np.random.default_rng(0)
    matrix = _symmetric(source, 12)
    draws = resample("aabbbbccdefg", 20, seed=2)
    found = pair_sums(matrix, draws.case, 7)(draws.times.astype(float))
    for place, value in enumerate(found):
        rows = np.repeat(np.arange(12), draws.times[draws.case, place])
        assert value == sum(int(matrix[i, j]) for i in rows for j in rows)


def test_sums_over_many_cases_are_those_of_the_whole_matrix() -> None:
    matrix = _symmetric(np.random.default_rng(1), 250)
    draws = resample(range(250), 5, seed=3)
    found = pair_sums(matrix, draws.case, 250)(draws.times.astype(float))
    for place, value in enumerate(found):
        times = draws.times[:, place].astype(int)
        assert value == int(times @ matrix.astype(int) @ times)


def _symmetric(source: np.random.Generator, size: int) -> NDArray[np.int8]:
    half = np.triu(source.integers(-1, 2, (size, size)).astype(np.int8))
    return np.asarray(half + np.triu(half, 1).T)


def test_sums_over_pairs_stay_exact_when_they_are_large() -> None:
    ones = np.ones((3000, 3000), dtype=np.int8)
    found = pair_sums(ones, np.zeros(3000, dtype=np.intp), 1)(np.array([[3.0]]))
    assert found[0] == 9000**2


def test_an_interval_of_normal_values_is_that_of_students_t() -> None:
    values = stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    reach = stats.t.ppf(0.975, 9) * np.sqrt(10 / 9)
    assert interval(values, 10) == pytest.approx((-reach, reach), abs=0.02)


@pytest.mark.parametrize("centre", [0.0, 1.0, 2.0, 2.6])
def test_p_is_the_level_at_which_the_interval_touches_the_null(centre: float) -> None:
    values = stats.norm.ppf((np.arange(20_000) + 0.5) / 20_000) + centre
    expected = 2 * stats.t.sf(centre * np.sqrt(11 / 12), 11)
    assert p_value(values, 12, 0.0) == pytest.approx(expected, abs=0.002)
    low, high = interval(values, 12)
    assert (p_value(values, 12, 0.0) < 0.05) == (not low <= 0 <= high)


def test_p_is_never_nothing() -> None:
    assert 0 < p_value(np.ones(1000), 50, 0.0) < 0.005
    assert p_value(np.zeros(1000), 50, 0.0) == pytest.approx(1)


def clustered(source: np.random.Generator, cases: int, rho: float) -> tuple[Numbers, Numbers]:
    """Four pairs of each case, alike by half; experts say 0 to 4, most of them 0."""
    mixing = np.linalg.cholesky([[1, rho], [rho, 1]])
    of_case = np.repeat(source.standard_normal((cases, 2)), 4, axis=0)
    metric, truth = mixing @ (of_case + source.standard_normal((4 * cases, 2))).T / np.sqrt(2)
    return metric, np.digitize(truth, [0.3, 0.6, 1.1, 2.2]).astype(float)


@pytest.mark.parametrize(("cases", "rho"), [(37, 0.5), (20, 0.5), (37, 0.0)])
def test_intervals_cover_and_p_keeps_its_level_on_clustered_data(cases: int, rho: float) -> None:
    """The bounds are what the issue asks (93-97 %, 6 %) and three errors of so few runs."""
    source = np.random.default_rng(8)
    many = clustered(source, 25_000, rho)
    scipys = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    slack = 3 * np.sqrt(0.05 * 0.95 / RUNS)
    samples = [clustered(source, cases, rho) for _ in range(RUNS)]
    of_row = np.repeat(np.arange(cases), 4).tolist()
    for coefficient in Coefficient:
        truth = scipys[coefficient](*many)[0] if rho else 0.0
        found = [
            correlate(coefficient, *sample, resample(of_row, 500, seed))
            for seed, sample in enumerate(samples)
        ]
        covered = np.mean([each.low < truth < each.high for each in found])  # type: ignore[operator]
        assert 0.93 - slack < covered < 0.97 + slack, (coefficient, covered)
        print(f"{coefficient} {cases} cases, rho {rho}: covered {covered:.3f}")  # noqa: T201
        if not rho:
            wrong = np.mean([each.p <= 0.05 for each in found])  # type: ignore[operator]
            assert wrong < 0.06 + slack, (coefficient, wrong)


def test_a_metric_is_resampled_ten_thousand_times_in_a_second() -> None:
    """Ten take 10 s on two cores; processor time leaves room for busy machines."""
    source = np.random.default_rng(0)
    expert = np.clip(np.round(source.normal(0.5, 1.4, 600)), 0, 5)
    metrics = expert + source.normal(0, 2, (2, 600))
    began = time.process_time()
    draws = resample((np.arange(600) // 4).tolist(), 10_000)
    for coefficient in Coefficient:
        for metric in metrics:
            assert correlate(coefficient, metric, expert, draws).low is not None
    assert time.process_time() - began < 4
