from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.statistics.pairwise import Accuracy, pairwise_accuracy
from histoeval.statistics.resampling import resample


def sign(difference: float, epsilon: float = 0.0) -> int:
    return 0 if abs(difference) <= epsilon else (1 if difference > 0 else -1)


def accuracy(
    metric: Sequence[float], expert: Sequence[float], groups: Sequence[int], epsilon: float
) -> float:
    """The definition, pair by pair."""
    shares = []
    for group in sorted(set(groups)):
        rows = [row for row, name in enumerate(groups) if name == group]
        agreed = [
            sign(metric[i] - metric[j], epsilon) == sign(expert[i] - expert[j])
            for i, j in combinations(rows, 2)
        ]
        shares += [sum(agreed) / len(agreed)] if agreed else []
    return sum(shares) / len(shares)


def best(
    metric: Sequence[float], expert: Sequence[float], groups: Sequence[int]
) -> tuple[float, float]:
    """Every epsilon that could matter, tried one by one; the first of the best."""
    tried = {0.0} | {abs(a - b) for a, b in combinations(metric, 2)}
    values = [(round(accuracy(metric, expert, groups, e), 10), -e) for e in tried]
    value, epsilon = max(values)
    return value, -epsilon


rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 3), st.integers(0, 3)), min_size=4, max_size=14
)


@given(rows)
@settings(max_examples=80, deadline=None)
def test_accuracy_and_epsilon_are_the_best_of_all(given_rows: list[tuple[int, int, int]]) -> None:
    metric, expert, groups = ([float(cell) for cell in column] for column in zip(*given_rows))  # noqa: B905
    names = [int(group) for group in groups]
    draws = resample(range(len(metric)), 5)
    whole = pairwise_accuracy(metric, expert, draws)
    if len(set(metric)) == 1 or len(set(expert)) == 1:
        assert whole.value is None
        assert whole.reason
        return
    assert (whole.value, whole.epsilon) == pytest.approx(best(metric, expert, [0] * len(metric)))
    within = pairwise_accuracy(metric, expert, draws, names)
    if len(set(names)) == len(names):
        assert within == Accuracy(reason="no group has two rows")
    else:
        assert (within.value, within.epsilon) == pytest.approx(best(metric, expert, names))


def test_a_case_worked_by_hand() -> None:
    """Of six pairs experts tie two; with epsilon 0.1 the metric ties one of them and no other."""
    found = pairwise_accuracy([0.1, 0.2, 0.9, 0.5], [0, 0, 3, 3], resample(range(4), 10))
    assert found.value == pytest.approx(5 / 6)
    assert found.epsilon == pytest.approx(0.1)
    assert found.expert_ties == pytest.approx(2 / 6)
    assert found.pairs == 6


@pytest.mark.parametrize("grouping", ["all", "cases", "across", "inside"])
def test_resampled_accuracy_is_that_of_the_rows_written_out(grouping: str) -> None:
    """Copies of one row are not paired with each other; copies of a case are groups of their own.

    The interval of one resample is that resample.
    """
    source = np.random.default_rng(1)
    expert = source.integers(0, 4, 32).astype(float)
    metric = expert + source.normal(0, 1, 32)
    case = np.arange(32) // 4
    groups = {"all": case * 0, "cases": case, "across": case // 3, "inside": np.arange(32) // 2}
    draws = resample(case.tolist(), 1, seed=3)
    names = groups[grouping].tolist()
    found = pairwise_accuracy(metric, expert, draws, names)
    assert found.epsilon is not None
    one_case = grouping in ("cases", "inside")
    copies = [
        (row, (group, copy if one_case else 0))
        for row, group in enumerate(names)
        for copy in range(draws.times[case[row], 0])
    ]
    shares = []
    for group in {group for _, group in copies}:
        members = [row for row, name in copies if name == group]
        agreed = [
            sign(metric[i] - metric[j], found.epsilon) == sign(expert[i] - expert[j])
            for i, j in combinations(members, 2)
            if i != j
        ]
        shares += [np.mean(agreed)] if agreed else []
    lowest = found.low + found.optimism  # type: ignore[operator]
    assert lowest == pytest.approx(np.mean(shares), abs=1e-12)


def test_the_interval_holds_the_value_and_narrows_with_more_cases() -> None:
    source = np.random.default_rng(2)
    widths = []
    for rows_ in (60, 600):
        expert = source.integers(0, 4, rows_).astype(float)
        metric = expert + source.normal(0, 1, rows_)
        found = pairwise_accuracy(metric, expert, resample(range(rows_), 400))
        assert found.low < found.value - found.optimism < found.high  # type: ignore[operator]
        widths.append(found.high - found.low)  # type: ignore[operator]
    assert widths[1] < widths[0] / 2


def test_the_optimism_is_what_the_same_epsilon_loses_on_other_data() -> None:
    """Of a metric that follows nothing, on few reports and on many more like them."""
    source = np.random.default_rng(4)
    lost, said = [], []
    for seed in range(60):
        expert, metric = source.integers(0, 3, 160).astype(float), source.normal(size=160)
        few = pairwise_accuracy(metric[:40], expert[:40], resample(range(40), 100, seed))
        later = metric[40:].tolist(), expert[40:].tolist()
        elsewhere = accuracy(*later, [0] * 120, few.epsilon)  # type: ignore[arg-type]
        lost.append(few.value - elsewhere)  # type: ignore[operator]
        said.append(few.optimism or 0)
    assert np.mean(said) == pytest.approx(np.mean(lost), abs=0.01)


@pytest.mark.parametrize(
    ("metric", "expert", "word"),
    [([1, 2, 3], [1, 2, 3], "3 pairs"), ([1, 1, 1, 1], [1, 2, 3, 4], "metric")],
)
def test_undefined_has_a_reason(metric: list[float], expert: list[float], word: str) -> None:
    found = pairwise_accuracy(metric, expert, resample(range(len(metric)), 10))
    assert found == Accuracy(reason=found.reason)
    assert word in str(found.reason)
