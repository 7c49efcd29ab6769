import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LinearRegression  # type: ignore[import-untyped]
from sklearn.metrics import r2_score, root_mean_squared_error  # type: ignore[import-untyped]

from histoeval.errors import SettingError
from histoeval.statistics.regression import regress

SOURCE = np.random.default_rng(3)
EXPERT = SOURCE.integers(1, 5, 231).astype(float)
METRIC = 20 * EXPERT + SOURCE.normal(0, 30, 231)


def test_the_line_and_its_figures_are_those_of_scikit_learn() -> None:
    x, y = (METRIC[:, None] + 100) / 300, EXPERT / 5
    line = LinearRegression().fit(x, y)
    found = regress(METRIC, EXPERT, (0, 5), (-100, 200))
    assert found.slope == pytest.approx(line.coef_[0], abs=1e-9)
    assert found.intercept == pytest.approx(line.intercept_, abs=1e-9)
    assert found.r2 == pytest.approx(r2_score(y, line.predict(x)), abs=1e-9)
    assert found.rmse == pytest.approx(root_mean_squared_error(y, line.predict(x)), abs=1e-9)


def test_r2_is_the_square_of_pearson_and_the_range_of_the_metric_does_not_matter() -> None:
    free = regress(METRIC, EXPERT, (0, 5))
    r = stats.pearsonr(METRIC, EXPERT).statistic
    assert free.r2 == pytest.approx(r**2, abs=1e-9)
    bounded = regress(METRIC, EXPERT, (0, 5), (-500, 500))
    assert (free.r2, free.rmse) == pytest.approx((bounded.r2, bounded.rmse), abs=1e-9)


@pytest.mark.parametrize(
    ("r", "rmse"), [(0.048, 0.169), (0.265, 0.163), (0.438, 0.152), (0.606, 0.134)]
)
def test_published_rmse_follow_from_published_counts_of_scores(r: float, rmse: float) -> None:
    """Table 5 of the paper says how often each score was given, table 6 has r and RMSE."""
    expert = np.repeat([1.0, 2.0, 3.0, 4.0], [71, 90, 62, 8])
    centred = expert - expert.mean()
    noise = np.random.default_rng(0).normal(size=len(expert))
    noise -= noise.mean() + centred * (noise @ centred) / (centred @ centred)
    metric = r * centred / np.linalg.norm(centred)
    metric += np.sqrt(1 - r**2) * noise / np.linalg.norm(noise)
    assert regress(metric, expert, (0, 5)).rmse == pytest.approx(rmse, abs=0.0006)


def test_constant_scores_have_a_reason() -> None:
    assert regress([1, 1, 1, 1], [1, 2, 3, 4], (0, 5)).model_dump(exclude={"reason"}) == {
        "r2": None,
        "rmse": None,
        "slope": None,
        "intercept": None,
    }
    assert "experts" in str(regress([1, 2, 3, 4], [1, 1, 1, 1], (0, 5)).reason)


def test_a_range_of_nothing_is_refused() -> None:
    with pytest.raises(SettingError, match="from 5 to 5"):
        regress([1, 2, 3, 4], [1, 2, 3, 4], (5, 5))
