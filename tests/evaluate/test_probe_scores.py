"""Costs and shares, counted by hand or the long way."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.errors import SettingError
from histoeval.evaluate.estimates import draws_of
from histoeval.evaluate.probe_scores import PairShare, ProbeFigures, evaluate_probes, figures_of
from histoeval.evaluate.probes import Probe, pairs_of
from histoeval.statistics.resampling import interval
from tests.evaluate.probe_builder import TableMetric, edit, probe

PROBES = [
    probe("a", edit(0, "a0"), edit(0, "a00"), edit(1, "a1"), edit(4, "a4")),
    probe("b", edit(0, "b0"), edit(1, "b1"), edit(1, "b11"), edit(2, "b2")),
]
VALUES = {"a0": 1.0, "a00": 0.6, "a1": 0.6, "a4": 0.0, "b0": 0.9, "b1": 0.7, "b11": 0.5, "b2": 0.7}

Case = list[list[tuple[int, float]]]
cases: st.SearchStrategy[Case] = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=1),
    min_size=1,
    max_size=5,
)


def share(found: PairShare) -> float:
    assert found.share is not None
    return found.share.value


def made(case: Case) -> tuple[list[Probe], TableMetric]:
    """Probes with edits of these severities, and a metric that takes these costs for them."""
    probes = [
        probe(f"{n}", *[edit(severity, f"{n}/{m}") for m, (severity, _) in enumerate(edits)])
        for n, edits in enumerate(case)
    ]
    costs = {f"{n}/{m}": cost for n, es in enumerate(case) for m, (_, cost) in enumerate(es)}
    return probes, TableMetric({text: 1 - cost for text, cost in costs.items()})


def test_shares_are_those_counted_by_hand() -> None:
    found = evaluate_probes(TableMetric(VALUES), PROBES)
    # a: of 4 pairs a00-a1 is a tie; b: 3 of 3
    assert (found.below.pairs, share(found.below)) == (7, 6 / 7)
    # a1-a4 is right; b1-b2 is a tie, b11-b2 the wrong way round
    assert (found.in_order.pairs, share(found.in_order)) == (3, 1 / 3)
    # costs 0, 0.4, 0.1 against 0.4, 1, 0.3, 0.5, 0.3: 5 + (0.5 + 1 + 0 + 1 + 0) + 5 of 15
    assert (found.auroc.pairs, share(found.auroc)) == (15, 12.5 / 15)
    by_kind = {kind: (each.pairs, share(each)) for kind, each in found.below_by_kind.items()}
    assert by_kind == {
        "harmless-0": (7, 6 / 7),
        "harmful-1": (4, 3 / 4),
        "harmful-2": (1, 1),
        "harmful-4": (2, 1),
    }


def test_a_critical_edit_that_costs_little_has_passed() -> None:
    assert share(evaluate_probes(TableMetric(VALUES), PROBES).critical_passed) == 0
    passed = evaluate_probes(TableMetric(VALUES | {"a4": 0.71}), PROBES).critical_passed
    assert (passed.pairs, share(passed)) == (1, 1)
    assert evaluate_probes(TableMetric(VALUES), PROBES[1:]).critical_passed.share is None


def test_costs_are_means_over_kinds_and_severities() -> None:
    found = evaluate_probes(TableMetric(VALUES), PROBES)
    assert list(found.severities) == [0, 1, 2, 4]
    costs = {k: each.cost.value for k, each in found.severities.items() if each.cost is not None}
    assert costs == pytest.approx({0: 0.5 / 3, 1: 1.2 / 3, 2: 0.3, 4: 1.0})
    assert (found.kinds["harmful-1"].edits, found.kinds["harmful-1"].severity) == (3, 1.0)
    assert (found.references, found.edits, found.missing, found.problem) == (2, 8, 0, "")


@pytest.mark.parametrize(
    ("best", "worst", "higher"), [(1.0, 0.0, True), (80.0, -20.0, True), (0.5, 40.0, False)]
)
def test_range_direction_and_the_score_against_itself_do_not_matter(
    best: float, worst: float, higher: bool
) -> None:
    """A metric that gives a text 80 of 100 against itself, and one for which less is better."""
    plain = evaluate_probes(TableMetric(VALUES), PROBES)
    stretched = TableMetric(
        {text: worst + value * (best - worst) for text, value in VALUES.items()},
        best=best,
        higher_is_better=higher,
        range=(worst, 100.0) if higher else (0.0, worst),
    )
    assert evaluate_probes(stretched, PROBES) == plain


def test_an_edit_that_scores_above_its_reference_costs_less_than_nothing() -> None:
    found = evaluate_probes(TableMetric({"x": 0.9}, best=0.6), [probe("a", edit(0, "x"))])
    cost = found.severities[0].cost
    assert cost is not None
    assert cost.value == pytest.approx(-0.5)


def test_differences_by_rounding_are_ties() -> None:
    metric = TableMetric({"x": 0.1 + 0.2, "y": 0.3})
    found = evaluate_probes(metric, [probe("a", edit(0, "x"), edit(1, "y"))])
    assert share(found.below) == 0
    assert share(found.auroc) == 0.5


def test_what_has_no_score_is_counted_and_in_no_figure() -> None:
    less = {text: value for text, value in VALUES.items() if text != "a4"}
    found = evaluate_probes(TableMetric(less), PROBES)
    assert (found.missing, found.problem) == (1, "nothing is known of a4")
    assert (found.severities[4].edits, found.severities[4].scored) == (1, 0)
    assert found.severities[4].cost is None
    assert (found.below.pairs, share(found.below)) == (5, 4 / 5)
    assert found.auroc.pairs == 3 * 4
    assert found.in_order.pairs == 2


def test_a_reference_with_the_worst_score_against_itself_has_no_costs() -> None:
    found = evaluate_probes(TableMetric(VALUES | {"a": 0.0}), PROBES)
    assert found.missing == 4
    assert found.problem == "a has the worst score against itself"
    assert found.below.pairs == 3


def test_nothing_to_compare_is_no_number_and_one_reference_has_no_interval() -> None:
    found = evaluate_probes(TableMetric(VALUES), [probe("b", edit(0, "b0"))])
    for each in (found.below, found.auroc, found.in_order):
        assert (each.pairs, each.share) == (0, None)
    below = evaluate_probes(TableMetric(VALUES), PROBES[:1]).below.share
    assert below is not None
    assert (below.low, below.high) == (None, None)


def test_a_metric_without_a_worst_score_is_refused() -> None:
    metric = TableMetric(VALUES, higher_is_better=False, range=(0.0, math.inf))
    with pytest.raises(SettingError, match="no worst score"):
        evaluate_probes(metric, PROBES)


def test_too_few_answers_are_not_taken_for_others() -> None:
    metric = TableMetric(VALUES)
    with pytest.raises(ValueError, match="1 answers for 10 pairs"):
        figures_of(metric, PROBES, metric.score(pairs_of(PROBES))[:1])


@given(cases)
def test_shares_are_those_of_going_through_all_pairs(case: Case) -> None:
    probes, metric = made(case)
    found = evaluate_probes(metric, probes, resamples=0)
    edits = [(n, severity, cost) for n, each in enumerate(case) for severity, cost in each]
    below, across, order = [], [], []
    for (n, one, low), (m, other, high) in product(edits, edits):
        if one == 0 < other:
            across.append((high > low) + (high == low) / 2)
            below += [high > low] if n == m else []
        elif 0 < one < other and n == m:
            order.append(high > low)
    for told, counted in ((found.below, below), (found.auroc, across), (found.in_order, order)):
        assert told.pairs == len(counted)
        if counted:
            assert share(told) == pytest.approx(float(np.mean(counted)))


def big(references: int) -> tuple[TableMetric, list[Probe]]:
    """References of several edits each, with costs by chance."""
    source = np.random.default_rng(5)
    case = [
        [(severity, float(source.random() + severity / 5) / 2) for severity in (0, 0, 1, 2, 3)]
        for _ in range(references)
    ]
    probes, metric = made(case)
    return metric, probes


def test_intervals_are_those_of_drawing_references_the_long_way() -> None:
    metric, probes = big(12)
    found = evaluate_probes(metric, probes, resamples=40, seed=3)
    drawn: dict[str, list[float]] = {"below": [], "auroc": [], "in_order": []}
    for times in draws_of(12, 40, 3).astype(int):
        again = [probes[place] for place, often in enumerate(times) for _ in range(often)]
        each = evaluate_probes(metric, again, resamples=0)
        for name, values in drawn.items():
            values.append(share(getattr(each, name)))
    for name, values in drawn.items():
        told = getattr(found, name).share
        assert (told.low, told.high) == pytest.approx(interval(np.array(values), 12))
        assert told.low <= told.value <= told.high


def test_the_seed_decides_the_draws_and_nothing_else() -> None:
    metric, probes = big(12)

    def figures(seed: int) -> ProbeFigures:
        return evaluate_probes(metric, probes, resamples=50, seed=seed)

    assert figures(1) == figures(1)
    assert figures(1) != figures(2)
    assert share(figures(1).below) == share(figures(2).below)
