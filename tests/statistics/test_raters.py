from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score  # type: ignore[import-untyped]

from histoeval.errors import SettingError
from histoeval.statistics.raters import (
    ceiling,
    icc,
    kappa_of_two,
    krippendorff_alpha,
    quadratic_kappa,
)
from histoeval.statistics.resampling import Numbers, Resamples, resample

_ = float("nan")

KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, _, _, _],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, _, 3],
        [_, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, _],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, _],
    ]
).T
"""Krippendorff (2011), section C: four observers, twelve units, ordinal alpha 0.815."""

SHROUT = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float
)
"""Shrout and Fleiss (1979), table 2: ICC(2,1) 0.29, ICC(3,1) 0.71, ICC(3,4) 0.91."""


def alone(table: Numbers, drawn: int = 20) -> Resamples:
    return resample(range(len(table)), drawn)


def rated(rows: int, raters: int, seed: int, missing: float = 0.0) -> Numbers:
    source = np.random.default_rng(seed)
    truth = source.normal(2, 1.5, (rows, 1))
    offset = source.normal(0, 0.5, raters)
    table = np.clip(np.round(truth + offset + source.normal(0, 0.8, (rows, raters))), 0, 5)
    return np.where(source.random((rows, raters)) < missing, np.nan, table)


def alpha_by_pairs(table: Numbers) -> float:
    """Observed over expected disagreement from all pairs of ratings, with ranks counted out."""
    units = [[float(v) for v in row if v == v] for row in table]  # noqa: PLR0124
    units = [unit for unit in units if len(unit) > 1]
    pooled = [value for unit in units for value in unit]

    def apart(a: float, b: float) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(low <= value <= high for value in pooled)
        return float((between - (pooled.count(low) + pooled.count(high)) / 2) ** 2)

    observed = sum(
        sum(apart(a, b) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(pooled)
    expected = sum(apart(a, b) for a, b in permutations(pooled, 2))
    return 1 - observed / (expected / (len(pooled) * (len(pooled) - 1)))


def icc_by_anova(table: Numbers) -> float:
    """The table of variances, cell by cell."""
    n, k = table.shape
    grand = table.mean()
    rows = sum(k * (row.mean() - grand) ** 2 for row in table) / (n - 1)
    columns = sum(n * (column.mean() - grand) ** 2 for column in table.T) / (k - 1)
    residual = sum(
        (table[i, j] - table[i].mean() - table[:, j].mean() + grand) ** 2
        for i in range(n)
        for j in range(k)
    ) / ((n - 1) * (k - 1))
    return float((rows - residual) / (rows + (k - 1) * residual + k * (columns - residual) / n))


def kappa_by_scikit_learn(table: Numbers) -> float:
    found = []
    for one, other in combinations(range(table.shape[1]), 2):
        pair = table[:, [one, other]]
        pair = pair[~np.isnan(pair).any(axis=1)]
        kappa = cohen_kappa_score(*pair.T.astype(int), weights="quadratic", labels=range(6))
        found.append(float(kappa))
    return float(np.mean(found))


def test_the_worked_examples_of_the_sources() -> None:
    assert krippendorff_alpha(KRIPPENDORFF, alone(KRIPPENDORFF)).value == pytest.approx(
        0.815, abs=5e-4
    )
    assert icc(SHROUT, alone(SHROUT)).value == pytest.approx(0.29, abs=5e-3)
    top = ceiling(SHROUT, alone(SHROUT))
    assert top.one_rater == pytest.approx(0.7148**0.5, abs=1e-4)
    assert top.mean_of_raters == pytest.approx(0.9093**0.5, abs=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_figures_are_those_of_independent_restatements(seed: int) -> None:
    holed, whole = rated(40, 3, seed, missing=0.3), rated(40, 3, seed)
    found = krippendorff_alpha(holed, alone(holed)).value
    assert found == pytest.approx(alpha_by_pairs(holed), abs=1e-9)
    found = quadratic_kappa(holed, alone(holed)).value
    assert found == pytest.approx(kappa_by_scikit_learn(holed), abs=1e-9)
    assert icc(whole, alone(whole)).value == pytest.approx(icc_by_anova(whole), abs=1e-9)


def test_resampled_figures_are_those_of_the_rows_written_out() -> None:
    """The interval of one resample is that resample."""
    table, case = rated(36, 3, 9), np.arange(36) // 3
    draws = resample(case.tolist(), 1, seed=5)
    written_out = table[np.repeat(np.arange(36), draws.times[case, 0])]
    assert krippendorff_alpha(table, draws).low == pytest.approx(alpha_by_pairs(written_out))
    assert quadratic_kappa(table, draws).low == pytest.approx(kappa_by_scikit_learn(written_out))
    assert icc(table, draws).low == pytest.approx(icc_by_anova(written_out))


def test_raters_who_agree_fully_have_one_throughout() -> None:
    table = np.repeat(np.arange(12.0)[:, None] % 5, 3, axis=1)
    for figure in (krippendorff_alpha, quadratic_kappa, icc):
        found = figure(table, alone(table, 200))
        assert (found.value, found.low, found.high) == pytest.approx((1, 1, 1))
        of_one_case = figure(table, resample(["a"] * 12, 10))
        assert of_one_case.value == pytest.approx(1)
        assert of_one_case.low is None
        assert "one case" in str(of_one_case.reason)
    top = ceiling(table, alone(table))
    assert (top.one_rater, top.mean_of_raters, top.held_out) == pytest.approx((1, 1, 1))


def test_a_strict_rater_lowers_agreement_and_not_the_ceiling() -> None:
    table = rated(200, 2, 3)
    stricter = table - [0, 3]
    for one, other in zip(
        ceiling(table, alone(table)), ceiling(stricter, alone(table)), strict=True
    ):
        assert one == pytest.approx(other)
    before, after = icc(table, alone(table)).value, icc(stricter, alone(table)).value
    assert after < before - 0.2  # type: ignore[operator]


def test_the_truth_itself_correlates_as_highly_as_the_ceiling_says() -> None:
    source = np.random.default_rng(1)
    truth = source.normal(size=20_000)
    table = truth[:, None] + source.normal(0, 1, (20_000, 3))
    top = ceiling(table, alone(table, 1))
    assert top.one_rater == pytest.approx(np.corrcoef(truth, table[:, 0])[0, 1], abs=0.01)
    assert top.mean_of_raters == pytest.approx(
        np.corrcoef(truth, table.mean(axis=1))[0, 1], abs=0.01
    )
    assert top.held_out < top.one_rater  # type: ignore[operator]


@pytest.mark.parametrize(
    ("table", "word"),
    [
        (np.ones((9, 1)), "one rater"),
        (np.ones((9, 3)), "the same"),
        (np.arange(6.0).reshape(3, 2), "3 rows"),
        (np.full((9, 2), np.nan), "0 rows"),
        (np.array([[1, _], [_, 2], [3, _], [_, 4], [5, _]]), "0 rows"),
    ],
)
def test_what_cannot_be_compared_has_a_reason(table: Numbers, word: str) -> None:
    draws = alone(table)
    for figure in (krippendorff_alpha, icc):
        found = figure(table, draws)
        assert found.value is None
        assert word in str(found.reason)
    assert quadratic_kappa(table, draws).value is None
    assert quadratic_kappa(table, draws).reason
    assert word in str(ceiling(table, draws).reason)


def test_ratings_that_are_no_table_are_refused() -> None:
    with pytest.raises(SettingError, match="table"):
        icc([1, 2, 3], resample("abc", 2))
    with pytest.raises(SettingError, match="finite"):
        icc([[1.0, float("inf")], [1.0, 2.0]], resample("ab", 2))


@pytest.mark.parametrize(
    ("one", "other", "kappa"),
    [
        ([1, 2, 3], [1, 2, 3], 1),
        ([1, 1, 4, 4], [1, 4, 1, 4], 0),
        ([1, 4], [4, 1], -1),
        ([2, 2], [2, 2], 1),
    ],
)
def test_kappa_of_two_raters(one: list[int], other: list[int], kappa: float) -> None:
    assert kappa_of_two(one, other) == pytest.approx(kappa)
