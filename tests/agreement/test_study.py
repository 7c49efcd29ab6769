"""A whole study, held against scipy and against what must be so."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from histoeval.agreement.metric_vs_experts import ASSUMES_ROWS
from histoeval.agreement.panel import Column
from histoeval.agreement.study import Study, StudyPlan, study
from histoeval.errors import InputError, SettingError
from tests.support.panels import made

QUICK = StudyPlan(resamples=200, permutations=50)


@pytest.fixture(scope="module")
def found() -> Study:
    return study(made(), QUICK)


def test_every_correlation_and_its_p_are_those_of_scipy(found: Study) -> None:
    panel = made()
    told = {each.metric: each for each in found.metrics}
    for name in ("good", "bad"):
        x, y = panel.metrics[name].values, panel.expert
        for ours, theirs in (
            (told[name].pearson, stats.pearsonr(x, y)),
            (told[name].spearman, stats.spearmanr(x, y)),
            (told[name].kendall, stats.kendalltau(x, y)),
        ):
            assert ours.value == pytest.approx(theirs.statistic, abs=1e-9)
            assert ours.p_rows == pytest.approx(theirs.pvalue, rel=1e-9)
            assert ours.p != ours.p_rows
            assert ours.low <= ours.high  # type: ignore[operator]


def test_where_every_row_is_a_group_p_is_that_of_scipy() -> None:
    panel = replace(made(), groups=made().ids)
    told = study(panel, QUICK).metrics[1]
    expected = stats.kendalltau(panel.metrics["bad"].values, panel.expert).pvalue
    assert told.kendall.p == told.kendall.p_rows == pytest.approx(expected, rel=1e-9)
    assert told.within is None


def test_a_line_is_fitted_as_in_the_paper(found: Study) -> None:
    panel = made()
    line = stats.linregress(panel.metrics["good"].values, panel.expert / 5)
    missed = panel.expert / 5 - line.intercept - line.slope * panel.metrics["good"].values
    assert found.metrics[0].r2 == pytest.approx(line.rvalue**2, abs=1e-9)
    assert found.metrics[0].rmse == pytest.approx(float(np.sqrt(np.mean(missed**2))), abs=1e-9)


def test_a_metric_that_counts_errors_is_turned_round(found: Study) -> None:
    good, _, errors, _ = found.metrics
    assert errors.pearson.value == pytest.approx(good.pearson.value)
    assert errors.pairwise.value == pytest.approx(good.pairwise.value)


def test_what_a_metric_has_not_scored_is_in_its_coverage_and_in_no_figure(found: Study) -> None:
    panel, partial = made(), found.metrics[3]
    there = ~np.isnan(panel.metrics["partial"].values)
    assert partial.n == 40
    assert partial.coverage == pytest.approx(40 / 48)
    expected = stats.pearsonr(panel.metrics["good"].values[there], panel.expert[there]).statistic
    assert partial.pearson.value == pytest.approx(expected)


def test_the_good_metric_ranks_before_the_bad_one(found: Study) -> None:
    ranks = found.ranking.ranks
    assert ranks["good"] == 1
    assert ranks["bad"] == max(ranks.values()) > 1
    pairs = {(each.one, each.other): each for each in found.ranking.rivals}
    assert pairs["good", "bad"].perm_cases.holm <= 0.05  # type: ignore[operator]
    assert pairs["good", "errors"].difference.value == pytest.approx(0)


def test_tests_that_take_rows_for_independent_say_so_where_they_are_not(found: Study) -> None:
    rival = found.ranking.rivals[0]
    assert rival.perm_cases.reason is None
    assert rival.perm_both.reason == rival.williams.reason == ASSUMES_ROWS
    alone = study(replace(made(), groups=made().ids), QUICK).ranking.rivals[0]
    assert alone.perm_both.reason is alone.williams.reason is None
    assert alone.perm_both == alone.perm_cases


def test_so_many_permutations_are_made_that_something_can_be_found(found: Study) -> None:
    assert found.ranking.permutations == 240
    assert len(found.ranking.rivals) == 6


def test_within_groups_is_the_mean_over_groups(found: Study) -> None:
    panel = made()
    each = [
        stats.pearsonr(panel.metrics["good"].values[rows], panel.expert[rows]).statistic
        for rows in np.split(np.arange(48), 12)
        if np.ptp(panel.expert[rows]) > 0
    ]
    within = found.metrics[0].within
    assert within
    assert within.pearson.value == pytest.approx(float(np.mean(each)))


def test_experts_are_the_mean_of_those_who_scored() -> None:
    table = made().ratings
    assert made().expert == pytest.approx(np.nanmean(table, axis=1))


def test_raters_and_their_ceiling_are_told(found: Study) -> None:
    assert found.raters.names == ("first", "second")
    assert found.raters.alpha.value
    assert 0 < (found.raters.ceiling.mean_of_raters or 0) <= 1


def test_parts_are_studied_apart() -> None:
    apart = study(made(), QUICK.model_copy(update={"by": ("organ",)})).by["organ"]
    assert list(apart) == ["skin", "lung"]
    assert [each.n for each in apart["lung"]] == [24, 24, 24, 24]
    with pytest.raises(SettingError, match="no 'stain'"):
        study(made(), QUICK.model_copy(update={"by": ("stain",)}))


def test_positive_only_leaves_zeros_out() -> None:
    panel = replace(made(), raters={"first": made().raters["first"]})
    found = study(panel, QUICK.model_copy(update={"positive_only": True}))
    assert found.rows == int((panel.expert > 0).sum()) < len(panel)


def test_power_is_told_for_two_metrics_and_refused_for_a_stranger() -> None:
    need = study(made(), QUICK.model_copy(update={"power": ("good", "bad")})).power
    assert need
    assert need.pairs
    with pytest.raises(SettingError, match="'hare' was not scored"):
        study(made(), QUICK.model_copy(update={"power": ("good", "hare")}))


def test_only_some_pairs_can_be_compared_and_then_nothing_is_ranked() -> None:
    plan = QUICK.model_copy(update={"only": (("good", "bad"),)})
    ranking = study(made(), plan).ranking
    assert [(each.one, each.other) for each in ranking.rivals] == [("good", "bad")]
    assert ranking.ranks == {}


def test_the_same_seed_gives_the_same_figures_and_another_does_not() -> None:
    assert study(made(), QUICK) == study(made(), QUICK)
    other = study(made(), QUICK.model_copy(update={"seed": 1}))
    assert other.metrics[0].pearson.value == study(made(), QUICK).metrics[0].pearson.value
    assert other.metrics[0].pearson.low != study(made(), QUICK).metrics[0].pearson.low


@pytest.mark.parametrize(
    ("rows", "change", "reason"),
    [
        (3, lambda scores: scores, "3 pairs only"),
        (48, np.zeros_like, "the metric gives all pairs the same score"),
        (48, lambda scores: np.full_like(scores, 1e300), "the metric gives all pairs the same"),
    ],
)
def test_what_cannot_be_said_is_none_with_a_reason(rows: int, change: object, reason: str) -> None:
    assert callable(change)
    panel = made().of(np.arange(rows))
    dull = Column(change(panel.metrics["good"].values))
    found = study(replace(panel, metrics={"dull": dull, "good": panel.metrics["good"]}), QUICK)
    told = found.metrics[0]
    assert told.pearson.value is told.kendall.value is told.pairwise.value is told.r2 is None
    assert str(told.reason).startswith(reason)
    json.dumps(found.model_dump(mode="json"), allow_nan=False)


@pytest.mark.parametrize("rows", [1, 2, 4, 5])
def test_few_rows_and_one_case_never_give_a_nan(rows: int) -> None:
    found = study(made().of(np.arange(rows)), QUICK)
    json.dumps(found.model_dump(mode="json"), allow_nan=False)


def test_experts_who_give_everything_the_same_score_are_told() -> None:
    panel = replace(made(), raters={"first": np.full(48, 2.0)})
    found = study(panel, QUICK)
    assert found.metrics[0].reason == "the experts give all pairs the same score"
    assert found.ranking.ranks == {}


def test_no_rows_and_no_metrics_are_refused() -> None:
    empty = made().of(np.arange(0))
    with pytest.raises(InputError, match="no pair has an expert's score"):
        study(empty, QUICK)
    with pytest.raises(SettingError, match="no metric"):
        study(replace(made(), metrics={}), QUICK)
