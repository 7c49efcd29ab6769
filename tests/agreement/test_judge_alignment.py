"""A judge beside experts: what is fitted, on what it is judged, and when nothing is fitted."""

from dataclasses import replace
from itertools import combinations_with_replacement

import numpy as np
import pytest

from histoeval.agreement.judge_alignment import (
    KINDS,
    ScoredCriterion,
    align_criterion,
    cannot_fit,
    confusion,
    figures,
    fit_mapping,
)
from histoeval.statistics.resampling import resample


def scored(judge: object, expert: object, pairs_a_case: int = 2) -> ScoredCriterion:
    one, other = (np.asarray(each, float) for each in (judge, expert))
    cases = tuple(f"case {n // pairs_a_case}" for n in range(len(one)))
    return ScoredCriterion("overall", (1.0, 4.0), one, other, cases)


def strict(pairs: int = 200, seed: int = 0) -> ScoredCriterion:
    """A judge who gives one step less than the experts, nearly always."""
    chance = np.random.default_rng(seed)
    expert = chance.integers(1, 5, pairs).astype(float)
    return scored(np.clip(expert - 1 + (chance.random(pairs) < 0.1), 1, 4), expert)


def test_a_judge_who_is_a_step_too_strict_is_brought_closer_on_unseen_cases() -> None:
    found, _ = align_criterion(strict(), resamples=200)
    assert found.after is not None
    assert found.before.exact.value == pytest.approx(0.29)
    assert (found.after.exact.value or 0) > 0.7
    assert (found.after.kappa.value or 0) > (found.before.kappa.value or 1)
    assert (found.after.mae.value or 1) < (found.before.mae.value or 0)
    assert found.offset.value == pytest.approx(0.71)


def test_a_judge_who_agrees_is_left_as_it_is() -> None:
    expert = np.tile([1.0, 2, 3, 4], 20)
    found, aligned = align_criterion(scored(expert, expert), resamples=100)
    assert found.mapping.kind == "none"
    assert found.chosen == {"none": 5}
    assert (aligned == expert).all()


def test_noise_is_not_fitted() -> None:
    """Scores that have nothing to do with each other: aligned figures promise nothing."""
    chance = np.random.default_rng(1)
    noise = scored(chance.integers(1, 5, 100), chance.integers(1, 5, 100))
    found, _ = align_criterion(noise, resamples=200)
    assert found.after is not None
    assert (found.after.kappa.value or 0) < 0.2


@pytest.mark.parametrize("kind", KINDS)
def test_no_mapping_turns_two_scores_around_or_leaves_the_scale(kind: str) -> None:
    chance = np.random.default_rng(2)
    for _ in range(20):
        some = scored(chance.integers(1, 5, 40), chance.integers(1, 5, 40))
        mapping = fit_mapping(kind, some)  # type: ignore[arg-type]
        moved = [mapping(score) for score in np.arange(1, 4.1, 0.25)]
        assert moved == sorted(moved)
        assert 1 <= min(moved) <= max(moved) <= 4


def test_thresholds_leave_no_more_error_than_any_other_steps() -> None:
    """Against all rising assignments of the four scores, one by one."""
    chance = np.random.default_rng(3)
    for _ in range(10):
        some = scored(chance.integers(1, 5, 30), chance.integers(1, 5, 30))
        mapping = fit_mapping("thresholds", some)
        own = sum((mapping(j) - e) ** 2 for j, e in zip(some.judge, some.expert, strict=True))
        least = min(
            sum((steps[int(j) - 1] - e) ** 2 for j, e in zip(some.judge, some.expert, strict=True))
            for steps in combinations_with_replacement(range(1, 5), 4)
        )
        assert own == pytest.approx(least)


def test_a_curve_is_the_isotonic_regression() -> None:
    isotonic = pytest.importorskip("sklearn.isotonic").IsotonicRegression
    chance = np.random.default_rng(4)
    some = scored(chance.integers(1, 5, 60), chance.integers(1, 5, 60))
    mapping = fit_mapping("curve", some)
    expected = isotonic().fit(some.judge, some.expert).predict(np.arange(1, 5))
    assert [mapping(score) for score in range(1, 5)] == pytest.approx(expected, abs=1e-4)


def test_pairs_of_a_case_are_in_one_fold_and_are_not_fitted_on() -> None:
    some = strict(60)
    found, unseen = align_criterion(some, resamples=50)
    assert sum(found.chosen.values()) == 5
    for case in ("case 0", "case 7"):
        own = np.array(some.cases) == case
        changed = replace(some, expert=np.where(own, 1.0, some.expert))
        assert (align_criterion(changed, resamples=50)[1][own] == unseen[own]).all()


@pytest.mark.parametrize(
    ("judge", "expert", "reason"),
    [
        ([1, 2] * 5, [1, 2] * 5, "10 pairs of 5 cases"),
        ([3] * 40, [1, 2] * 20, "the judge gave every pair 3"),
        ([1, 2] * 20, [4] * 40, "the experts gave every pair 4"),
        ([1, 2] * 20, [4] * 38 + [1, 2], "the experts gave all but one case the same score"),
    ],
)
def test_too_few_scores_are_not_fitted(judge: list[int], expert: list[int], reason: str) -> None:
    some = scored(judge, expert)
    assert reason in cannot_fit(some)
    found, aligned = align_criterion(some, resamples=50)
    assert reason in found.reason
    assert found.after is None
    assert found.mapping.kind == "none"
    assert (aligned == some.judge).all()


def test_confusion_counts_every_pair_with_halves_up() -> None:
    some = scored([1, 1.5, 4, 4], [1, 2, 1, 4], 1)
    table = np.array(confusion(some).counts)
    assert table.sum() == 4
    assert (table[0, 0], table[1, 1], table[3, 0], table[3, 3]) == (1, 1, 1, 1)


def test_figures_by_hand() -> None:
    judge, expert = np.array([1.0, 2, 4, 3]), np.array([1.0, 3, 1, 3])
    found = figures(judge, expert, resample(["a", "b", "c", "d"], 50))
    assert (found.exact.value, found.within_one.value, found.mae.value) == (0.5, 0.75, 1.0)
