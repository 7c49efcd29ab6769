"""Which system is better, held against scipy, against counting, and under the null."""

import json
from itertools import product

import numpy as np
import pytest
from scipy import stats

from histoeval.agreement.systems import contest, randomisation_p
from histoeval.errors import InputError, SettingError

SOURCE = np.random.default_rng(5)
CASES = [row // 2 for row in range(60)]
BASE = SOURCE.random(60)
SYSTEMS = {"a": BASE + 0.3, "b": BASE + 0.1 * SOURCE.random(60), "c": BASE}
QUICK = {"resamples": 300, "permutations": 500}


def test_means_wins_and_effects_are_what_counting_gives() -> None:
    found = contest(SYSTEMS, CASES, **QUICK)
    means = {each.system: each.mean.value for each in found.systems}
    assert means == pytest.approx({name: column.mean() for name, column in SYSTEMS.items()})
    duel = next(each for each in found.duels if (each.one, each.other) == ("a", "b"))
    apart = SYSTEMS["a"] - SYSTEMS["b"]
    assert (duel.wins, duel.ties, duel.losses) == (60, 0, 0)
    assert duel.difference.value == pytest.approx(apart.mean())
    paired = stats.ttest_rel(SYSTEMS["a"], SYSTEMS["b"]).statistic / np.sqrt(60)
    assert duel.effect == pytest.approx(paired)


def test_the_best_is_ranked_first_and_equals_share_a_rank() -> None:
    twins = {"x": BASE, "y": BASE + SOURCE.normal(size=60) * 1e-3, "worse": BASE - 1}
    found = contest(twins, CASES, **QUICK)
    ranks = {each.system: each.rank for each in found.systems}
    assert ranks["x"] == ranks["y"] == 1
    assert ranks["worse"] == 2
    assert [each.rank for each in found.systems] == sorted(ranks.values())


def test_a_tie_is_what_differs_by_no_more_than_was_said() -> None:
    near = {"a": np.array([0.5, 0.5, 0.9, 0.1]), "b": np.array([0.5, 0.45, 0.5, 0.5])}
    found = contest(near, range(4), tie=0.05, **QUICK)
    assert (found.duels[0].wins, found.duels[0].ties, found.duels[0].losses) == (1, 2, 1)


def test_randomisation_nears_the_share_of_all_swaps() -> None:
    apart = np.array([0.4, -0.1, 0.3, 0.2, 0.5, -0.2, 0.1, 0.35])
    case = [0, 0, 1, 2, 3, 4, 5, 6]
    sums = np.array([0.3, 0.3, 0.2, 0.5, -0.2, 0.1, 0.35])
    every = [abs(np.dot(signs, sums)) for signs in product((1, -1), repeat=7)]
    exact = np.mean([total >= sums.sum() - 1e-12 for total in every])
    (found,) = randomisation_p(apart[:, None], np.array(case), 20_000, 0)
    assert found == pytest.approx(exact, abs=0.01)


def test_whole_cases_are_swapped_so_that_false_findings_stay_rare() -> None:
    wrong = 0
    for seed in range(300):
        source = np.random.default_rng(seed)
        cases = np.repeat(np.arange(20), 4)
        apart = source.normal(size=20)[cases] + 0.3 * source.normal(size=80)
        wrong += randomisation_p(apart[:, None], cases, 99, seed)[0] <= 0.05
    assert wrong / 300 <= 0.08


def test_systems_that_are_the_same_do_not_differ() -> None:
    found = contest({"a": BASE, "b": BASE}, CASES, **QUICK)
    assert found.duels[0].p == found.duels[0].difference.p == 1
    assert found.duels[0].effect == 0
    assert [each.rank for each in found.systems] == [1, 1]


def test_one_case_has_no_interval_and_no_nan() -> None:
    found = contest({"a": [1.0], "b": [0.0]}, ["only"], **QUICK)
    assert found.systems[0].mean.low is None
    assert found.systems[0].mean.reason is not None
    json.dumps(found.model_dump(mode="json"), allow_nan=False)


def test_what_cannot_be_compared_is_refused() -> None:
    with pytest.raises(SettingError, match="two systems"):
        contest({"a": BASE}, CASES)
    with pytest.raises(InputError, match="no pair in common"):
        contest({"a": [], "b": []}, [])
    with pytest.raises(SettingError, match="one finite score"):
        contest({"a": BASE, "b": np.full(60, np.nan)}, CASES)
