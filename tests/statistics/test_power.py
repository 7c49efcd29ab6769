import numpy as np
import pytest

from histoeval.errors import SettingError
from histoeval.statistics.correlation import Coefficient
from histoeval.statistics.resampling import Numbers
from histoeval.statistics.significance import SampleSize, pairs_needed, williams


def scored(
    source: np.random.Generator, rows: int, noise: float
) -> tuple[Numbers, Numbers, Numbers]:
    """A metric with noise 1, one with more, and experts."""
    expert = source.normal(size=rows)
    one = expert + source.normal(0, 1, rows)
    return one, expert + source.normal(0, noise, rows), expert


def test_the_number_is_one_at_which_williams_test_has_that_power_too() -> None:
    """On sheets of that size drawn from the same scores."""
    source = np.random.default_rng(4)
    data = scored(source, 300, 1.5)
    need = pairs_needed(Coefficient.PEARSON, *data, list(range(300)), simulations=100)
    assert need.pairs == need.cases
    sheets = (source.integers(0, 300, need.cases) for _ in range(500))
    found = [williams(*(column[rows] for column in data)).p for rows in sheets]
    assert np.mean([p is not None and p <= 0.05 for p in found]) == pytest.approx(0.82, abs=0.1)


def test_more_difference_needs_fewer_pairs() -> None:
    needs = [
        pairs_needed(
            Coefficient.PEARSON,
            *scored(np.random.default_rng(1), 150, noise),
            list(range(150)),
            simulations=60,
        ).pairs
        for noise in (1.6, 3.0)
    ]
    assert needs[1] < needs[0]  # type: ignore[operator]


def test_pairs_come_with_their_cases_and_each_step_is_told() -> None:
    data = scored(np.random.default_rng(2), 80, 2.5)
    cases = (np.arange(80) // 4).tolist()
    need = pairs_needed(Coefficient.KENDALL, *data, cases, simulations=15)
    assert need.cases is not None
    assert need.pairs == 4 * need.cases
    powers = {step.cases: step.power for step in need.steps}
    assert powers[need.cases] >= 0.8
    assert all(power < 0.8 for cases, power in powers.items() if cases < need.cases)


def test_the_same_seed_means_the_same_answer() -> None:
    data = scored(np.random.default_rng(2), 60, 2.5)
    one, same = (
        pairs_needed(Coefficient.PEARSON, *data, list(range(60)), simulations=30, seed=7)
        for _ in range(2)
    )
    assert one == same


def test_metrics_that_hardly_differ_have_a_reason_and_what_was_tried() -> None:
    """The second metric errs as much as the first, the other way."""
    one, _, expert = scored(np.random.default_rng(3), 40, 1)
    slope, intercept = np.polyfit(expert, one, 1)
    mirrored = 2 * (slope * expert + intercept) - one
    mirrored[0] += 1e-3
    need = pairs_needed(Coefficient.PEARSON, one, mirrored, expert, list(range(40)), simulations=20)
    assert need.cases is need.pairs is None
    assert "more are not tried" in str(need.reason)
    assert need.steps[-1].cases == 32 * 40
    assert need.difference == pytest.approx(0, abs=0.01)


def test_what_cannot_be_told_has_a_reason() -> None:
    one, _, expert = scored(np.random.default_rng(3), 40, 1)
    rows = list(range(40))
    same = pairs_needed(Coefficient.PEARSON, one, one * 2, expert, rows)
    assert "do not differ" in str(same.reason)
    constant = pairs_needed(Coefficient.PEARSON, one, one * 0, expert, rows)
    assert constant == SampleSize(reason="the other metric gives all pairs the same score")
    few = pairs_needed(Coefficient.PEARSON, one, expert, expert, [0] * 40)
    assert "cases to draw from" in str(few.reason)
    with pytest.raises(SettingError, match="between 0 and 1"):
        pairs_needed(Coefficient.PEARSON, [1, 2], [2, 1], [1, 2], [0, 1], target=1)
