"""Tuning: it finds weights that were hidden, and tells what they are worth on other reports."""

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

from histoeval.errors import InputError
from histoeval.pathgls.fusion import ROUTES
from histoeval.pathgls.policy.policy import DimensionWeights, Floors, Policy, read_policy
from histoeval.pathgls.policy.tuning import (
    LabelledReports,
    Target,
    TuningPlan,
    deal,
    fit,
    grid,
    objectives,
    routes,
    tune,
)

BASE = read_policy().model_copy(update={"floors": Floors()})
PLAN = TuningPlan(base=BASE, aim=Target(confidence=0.5), repeats=1, folds=3, parts=10)


def made(
    rows: int = 120, weights: tuple[float, ...] = (0.1, 0.8, 0.1), noise: float = 0.0
) -> LabelledReports:
    random = np.random.default_rng(7)
    dimensions = random.random((rows, 3))
    hidden = dimensions @ np.array(weights) + noise * random.standard_normal(rows)
    good = hidden > np.median(hidden)
    return LabelledReports(dimensions, good.astype(float), ~good, np.arange(rows))


def test_the_grid_holds_every_dealing_once() -> None:
    weights = grid(20)
    assert len(weights) == len({tuple(row) for row in weights}) == 21 * 22 // 2
    assert np.allclose(weights.sum(axis=1), 1)
    assert (grid(20, ("stability",))[:, 2] == 0).all()
    assert len(grid(20, ("stability",))) == 21


def test_the_figures_are_those_of_others() -> None:
    random = np.random.default_rng(0)
    trust, levels = random.random((4, 50)).round(1), random.integers(0, 5, 50).astype(float)
    for row, figure in zip(trust, objectives(trust, levels, "spearman"), strict=True):
        assert figure == pytest.approx(stats.spearmanr(row, levels).statistic)
    right = (levels > 2).astype(float)
    for row, figure in zip(trust, objectives(trust, right, "auroc"), strict=True):
        assert figure == pytest.approx(roc_auc_score(right, row))


def test_where_nothing_differs_there_is_no_figure() -> None:
    flat, levels = np.full((1, 5), 0.5), np.arange(5.0)
    assert np.isnan(objectives(flat, levels, "spearman")).all()
    assert np.isnan(objectives(flat, np.ones(5), "auroc")).all()


def test_a_case_is_never_in_two_folds_and_labels_are_spread() -> None:
    cases = np.repeat(np.arange(40), 3)
    goodness = np.repeat(np.arange(40) < 8, 3).astype(float)
    fold_of = deal(cases, goodness, 4, np.random.default_rng(1))
    assert all(len(np.unique(fold_of[cases == case])) == 1 for case in range(40))
    assert [int(goodness[fold_of == fold].sum()) for fold in range(4)] == [6, 6, 6, 6]


def test_hidden_weights_are_found_and_beat_those_of_the_paper_on_other_reports() -> None:
    found = tune(made(), PLAN)
    assert found.objective == "auroc"
    assert found.policy.weights == DimensionWeights(grounding=0.1, logic=0.8, stability=0.1)
    assert len(found.folds) == 3
    assert np.mean([fold.tuned for fold in found.folds]) > 0.98
    assert all(fold.tuned > fold.paper for fold in found.folds)


def test_noise_is_not_worth_anything_on_other_reports_though_it_seems_so_inside() -> None:
    random = np.random.default_rng(3)
    labels = random.random(60) > 0.5
    noise = LabelledReports(random.random((60, 3)), labels.astype(float), ~labels, np.arange(60))
    found = tune(noise, PLAN.model_copy(update={"repeats": 4}))
    outside = float(np.mean([fold.tuned for fold in found.folds]))
    assert found.inside > 0.55
    assert abs(outside - 0.5) < 0.1


def test_levels_are_followed_by_rank() -> None:
    labelled = made()
    levels = np.digitize(labelled.dimensions[:, 0], [0.2, 0.4, 0.6, 0.8]).astype(float)
    found = tune(labelled._replace(goodness=levels, wrong=None), PLAN)
    assert found.objective == "spearman"
    assert found.policy.weights.grounding == 1.0
    assert found.policy.deploy_from == BASE.deploy_from


def test_of_equally_good_weights_the_nearest_to_the_papers_are_taken() -> None:
    labelled = made()
    same = np.repeat(labelled.dimensions[:, :1], 3, axis=1)
    assert fit(labelled._replace(dimensions=same), PLAN, "auroc").weights.numbers == (0.4, 0.3, 0.3)


def test_thresholds_keep_to_the_share_inside_and_are_counted_outside() -> None:
    labelled = made(300, noise=0.05)
    found = tune(labelled, PLAN)
    (right, wrong), _, (lost, seen) = routes(labelled, found.policy)
    assert wrong <= 0.05 * (right + wrong)
    assert lost <= 0.05 * (lost + seen)
    assert right > 60
    counted = sum(fold.tuned_routes for fold in found.folds)
    assert isinstance(counted, np.ndarray)
    assert counted.sum() == 300
    assert counted[ROUTES.index("deploy"), 1] < 0.12 * counted[ROUTES.index("deploy")].sum()


def test_a_dimension_that_nobody_knows_gets_no_weight() -> None:
    labelled = made()
    labelled.dimensions[:, 2] = np.nan
    found = tune(labelled, PLAN.model_copy(update={"without": ("stability",)}))
    assert found.policy.weights.stability == 0
    assert sum(fold.tuned_routes[0].sum() for fold in found.folds) > 0
    assert sum(fold.base_routes[0].sum() for fold in found.folds) == 0


def test_floors_of_the_base_policy_are_kept() -> None:
    floored: Policy = BASE.model_copy(update={"floors": Floors(grounding=0.9)})
    policy = fit(made(), PLAN.model_copy(update={"base": floored}), "auroc")
    assert policy.floors == Floors(grounding=0.9)


@pytest.mark.parametrize(
    ("labelled", "said"),
    [
        (made(8), "fewest"),
        (made()._replace(goodness=np.ones(120)), "same label"),
        (made()._replace(cases=np.zeros(120, dtype=np.intp)), "1 cases are too few"),
    ],
)
def test_too_little_is_said_to_be(labelled: LabelledReports, said: str) -> None:
    with pytest.raises(InputError, match=said):
        tune(labelled, PLAN)
