"""Places, resampled means and Kendall's tau, against plain Python and scipy."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from histoeval.challenge.ranking import (
    Values,
    kendall,
    mean_ranks,
    place_interval,
    places,
    resampled_means,
    shares_of_places,
    values_of,
)
from histoeval.challenge.scoring import CaseScore
from histoeval.challenge.standings import MetricUsed
from histoeval.statistics.resampling import resample

MEANS = np.array([[0.9, 0.2], [0.8, 0.9], [0.8, 0.1]])
HALF = np.array([0.5, 0.5])


def test_teams_are_ranked_by_their_mean_or_by_each_metric_and_the_mean_of_ranks() -> None:
    assert places(MEANS, HALF, "mean-then-rank", "min").tolist() == [2, 1, 3]
    assert mean_ranks(MEANS, HALF).tolist() == [1.5, 1.75, 2.75]
    assert places(MEANS, HALF, "rank-then-mean", "min").tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("ties", "expected"), [("min", [1, 1, 3]), ("dense", [1, 1, 2]), ("average", [1.5, 1.5, 3])]
)
def test_equal_teams_share_a_place(ties: str, expected: list[float]) -> None:
    means = np.array([[0.1 + 0.2], [0.3], [0.1]])
    assert places(means, np.ones(1), "mean-then-rank", ties).tolist() == expected  # type: ignore[arg-type]


def test_means_of_resamples_keep_groups_together() -> None:
    values = np.arange(8.0).reshape(2, 4)
    drawn = resample(["a", "a", "b", "c"], 50, 1)
    found = resampled_means(values, drawn)
    for at in range(50):
        weights = drawn.times[drawn.case, at]
        assert found[at] == pytest.approx(np.average(values, axis=1, weights=weights))


def test_tau_is_that_of_scipy() -> None:
    source = np.random.default_rng(3)
    one, others = source.integers(0, 4, 9).astype(float), source.integers(0, 4, (20, 9))
    expected = [kendalltau(one, other).statistic for other in others]
    assert kendall(one, others.astype(float)) == pytest.approx(expected)
    assert kendall(np.ones(1), np.ones((3, 1))).tolist() == [1, 1, 1]


def test_places_over_resamples() -> None:
    drawn = np.array([1.0] * 90 + [2.0] * 8 + [3.0] * 2)
    assert place_interval(drawn, drawn) == (1, 2)
    assert shares_of_places(drawn, 4) == (0.9, 0.08, 0.02, 0)


def test_what_is_missing_has_the_worst_value_and_a_lower_one_counts_as_0() -> None:
    scores = {
        team: {id_: CaseScore({"m": value}) for id_, value in cases.items()}
        for team, cases in {"a": {"x": 5.0}, "b": {"x": -9.0, "y": 10.0}}.items()
    }
    used = {"m": MetricUsed(signature="m", weight=1, higher_is_better=True, worst=0, best=10)}
    values, there = values_of(scores, used, ["x", "y"])
    assert values.raw.tolist() == [[[5, 0]], [[-9, 10]]]
    assert there.tolist() == [[True, False], [True, True]]
    assert values.score.tolist() == [[0.5, 0], [0, 1]]
    assert values.only(np.array([1])).score.tolist() == [[0], [1]]


def test_less_may_be_better() -> None:
    one = np.ones(1)
    values = Values(("a",), ("m",), ("x",), np.array([[[2.0]]]), 10 * one, 0 * one, one)
    assert values.score.tolist() == [[0.8]]
