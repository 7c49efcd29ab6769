"""Fitting weights: a known order is found again, and nothing that is scored was seen."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from histoeval.concordance.weights import COVERED, TERMS, Combination
from histoeval.errors import InputError
from histoeval_research.train.concordance import train as concordance
from histoeval_research.train.concordance.train import (
    LEAST,
    STRENGTHS,
    FitData,
    cross_validated,
    fit,
    fit_curve,
    fit_weights,
    fold_of,
    joined_groups,
    predict,
)

TRUE = {"diagnosis": 2.0, "site": 1.0, "diagnosis*behaviour*grade": 1.0}
PLAIN = STRENGTHS[0]


def made_up(pairs: int, seed: int = 0, noise: float = 0.0) -> FitData:
    """Pairs whose scores follow three of the terms, three pairs to a case, in two sets."""
    source = np.random.default_rng(seed)
    terms = source.uniform(0, 1, (pairs, len(TERMS)))
    weights = np.array([TRUE.get(term, 0.0) for term in TERMS])
    scores = 5 * terms @ weights / weights.sum() + source.normal(0, noise, pairs)
    groups = np.array([f"case {n // 3}" for n in range(pairs)])
    sets = np.array(["one" if n < pairs // 2 else "other" for n in range(pairs)])
    return FitData(terms, np.clip(scores, 0, 5), sets, groups)


def test_a_known_order_is_found_again_in_pairs_that_were_not_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Weights as the data have them, without those that details are given in any case."""
    monkeypatch.setattr(concordance, "LEAST", {})
    unseen = made_up(300, seed=1)
    combination = fit(made_up(150), PLAIN, 5.0)
    assert spearmanr(predict(combination, unseen), unseen.scores)[0] > 0.95
    weights = dict(zip(TERMS, fit_weights(made_up(200), 0.02), strict=True))
    ranked = sorted(weights, key=lambda term: -weights[term])
    assert set(ranked[:3]) == set(TRUE)
    assert ranked[0] == "diagnosis"
    scored = made_up(150, noise=0.1)
    assert spearmanr(cross_validated(scored, 5.0, folds=4), scored.scores)[0] > 0.95


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_no_weight_is_negative_and_details_keep_their_least(seed: int) -> None:
    source = np.random.default_rng(seed)
    terms = source.uniform(0, 1, (12, len(TERMS)))
    groups = np.array([str(n) for n in range(12)])
    scored = FitData(terms, source.integers(0, 6, 12).astype(float), np.full(12, "s"), groups)
    weights = dict(zip(TERMS, fit_weights(scored, 0.1), strict=True))
    assert min(weights.values()) >= 0
    assert set(LEAST) <= set(TERMS)
    assert all(weights[term] >= least - 1e-9 for term, least in LEAST.items())


def test_only_terms_that_are_counted_are_given_a_weight() -> None:
    assert COVERED not in fit(made_up(60), PLAIN, 5.0).weights, "no part of what experts score"
    two = ("site", "diagnosis*behaviour*grade")
    assert set(fit(replace(made_up(60), counted=two), PLAIN, 3.0).weights) <= set(two)
    values = cross_validated(replace(made_up(60), counted=("site",)), 5.0, folds=3)
    assert spearmanr(values, made_up(60).terms[:, TERMS.index("site")])[0] > 0.95


@pytest.mark.parametrize("top", [3.0, 5.0])
def test_a_perfect_candidate_gets_the_top_whatever_is_fitted(top: float) -> None:
    scored = made_up(60)
    fitted = fit(replace(scored, scores=scored.scores * top / 10), PLAIN, top)
    assert predict(fitted, replace(scored, terms=np.ones((1, len(TERMS)))))[0] == pytest.approx(top)


def test_predicting_is_what_the_combination_says_of_each_pair() -> None:
    source = np.random.default_rng(3)
    combination = Combination(
        weights={"site": 1.0, "diagnosis": 0.5},
        curve=fit_curve(source.uniform(0, 1, 30), source.uniform(0, 5, 30), 0.0, 5.0),
        floor=0.5,
    )
    rows = [{"site": float(s), "diagnosis": float(d)} for s, d in source.uniform(0, 1, (20, 2))]
    terms = np.array(
        [
            [np.prod([row.get(part, 1) for part in term.split("*")]) for term in TERMS]
            for row in rows
        ]
    )
    found = predict(combination, replace(made_up(20), terms=terms))
    assert found == pytest.approx([combination(row) for row in rows])


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 5)), min_size=2, max_size=30))
def test_the_curve_rises_from_the_bottom_to_the_top(points: list[tuple[float, float]]) -> None:
    means, scores = np.array(points).T
    curve = fit_curve(means, scores, 0.0, 5.0)
    assert list(curve.value) == sorted(curve.value)
    assert (curve.value[0] >= 0, curve.value[-1]) == (True, 5)
    means = np.linspace(0, 1, 200)
    squares = 5 * means**2
    assert np.abs(fit_curve(means, squares, 0.0, 5.0)(means) - squares).max() < 0.25


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1), st.integers(2, 10), st.integers(0, 99))
def test_groups_never_straddle_folds(names: list[str], folds: int, seed: int) -> None:
    fold = fold_of(np.array(names), folds, seed)
    assert len({*zip(names, fold.tolist(), strict=True)}) == len(set(names))
    assert set(fold.tolist()) <= set(range(folds))
    sizes = [len({n for n, f in zip(names, fold, strict=True) if f == k}) for k in range(folds)]
    assert max(sizes) - min(sizes) <= 1


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("vwxyz")), max_size=12))
def test_joined_groups_are_what_can_be_reached_through_groups_and_texts(
    rows: list[tuple[str, str]],
) -> None:
    joined = joined_groups([group for group, _ in rows], [f"{text}\n  ." for _, text in rows])
    assert joined == joined_groups([group for group, _ in rows], [f"{text} ." for _, text in rows])
    reached = [{n} for n in range(len(rows))]
    for _ in rows:
        for own in reached:
            own |= {
                n
                for n, row in enumerate(rows)
                if any(row[0] == rows[k][0] or row[1] == rows[k][1] for k in own)
            }
    for n in range(len(rows)):
        assert {m for m in range(len(rows)) if joined[m] == joined[n]} == reached[n]


class Spy:
    """Looks on while weights are fitted, and remembers which cases were shown."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        self.shown: list[frozenset[str]] = []
        self._inner = getattr(concordance, name)
        monkeypatch.setattr(concordance, name, self)

    def __call__(self, scored: FitData, *rest: object) -> object:
        self.shown.append(frozenset(scored.groups.tolist()))
        return self._inner(scored, *rest)


def test_the_strength_is_chosen_without_the_cases_that_are_scored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scored = made_up(36)
    chosen, fitted = Spy(monkeypatch, "choose"), Spy(monkeypatch, "fit")
    folds, inner = 3, 2
    cross_validated(scored, 5.0, folds=folds, inner=inner)
    everything = frozenset(scored.groups.tolist())
    held_out = [everything - shown for shown in chosen.shown]
    assert len(held_out) == folds
    assert frozenset.union(*held_out) == everything
    assert sum(map(len, held_out)) == len(everything)
    per_fold = len(STRENGTHS) * inner + 1
    assert len(fitted.shown) == folds * per_fold
    for number, outside in enumerate(held_out):
        fits = fitted.shown[number * per_fold : (number + 1) * per_fold]
        assert not frozenset.union(*fits) & outside
        assert fits[-1] == everything - outside
        assert all(inside < everything - outside for inside in fits[:-1])


def test_scores_that_are_held_out_change_nothing_of_the_choice_or_the_fit() -> None:
    scored = made_up(36, noise=0.5)
    here = np.flatnonzero(fold_of(scored.groups, 3, 0) == 0)
    shuffled = scored.scores.copy()
    shuffled[here] = 5 - shuffled[here]
    both = (scored, replace(scored, scores=shuffled))
    values = [cross_validated(each, 5.0, folds=3, inner=2)[here].tolist() for each in both]
    assert values[0] == values[1]


def test_a_floor_sends_low_values_to_the_bottom_and_leaves_the_rest() -> None:
    scored = made_up(60)
    plain, floored = (fit(scored, PLAIN, 5.0, floor) for floor in (0.0, 2.0))
    before, after = predict(plain, scored), predict(floored, scored)
    assert (before < 2.0).any()
    assert set(after[before < 2.0].tolist()) == {plain.curve.value[0]}
    assert after[before >= 2.0].tolist() == before[before >= 2.0].tolist()


def test_the_order_inside_a_set_counts_and_that_between_sets_does_not() -> None:
    scored = made_up(80)
    shifted = np.where(scored.sets == "one", scored.scores, scored.scores + 100)
    again = fit_weights(replace(scored, scores=shifted), 0.02)
    assert again == pytest.approx(fit_weights(scored, 0.02), abs=1e-3)


def test_what_cannot_be_fitted_is_refused() -> None:
    scored = made_up(12)
    with pytest.raises(InputError, match="nothing to fit"):
        fit(replace(scored, scores=np.full(12, 3.0)), PLAIN, 5.0)
    for cases in (1, 2):
        with pytest.raises(InputError, match="too few cases"):
            cross_validated(made_up(3 * cases), 5.0)
