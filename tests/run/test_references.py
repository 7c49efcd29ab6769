"""Several references for a case: what metrics are asked, and what becomes of their answers."""

from __future__ import annotations

import pickle
from collections.abc import Sequence

import pytest

from histoeval.errors import Problem
from histoeval.metric import Score
from histoeval.metrics.base import MetricBase
from histoeval.report import Pair, PairWithReferences
from histoeval.run.score import Prefetching, single_pairs, with_references

PAIR = PairWithReferences(id="a", reference="x", candidate="xy", more_references=("xyz", "xy"))


class Length(MetricBase):
    """By how many letters a reference is longer; it can be asked in advance."""

    name = "length"
    higher_is_better = False
    ahead = 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def prefetch(self, pairs: Sequence[Pair]) -> None:
        self.asked += [pair.reference for pair in pairs]

    def stop_prefetch(self) -> None:
        self.asked.clear()

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [self._answer(pair) for pair in pairs]

    def _answer(self, pair: Pair) -> Score | Problem:
        if not pair.reference.isalpha():
            return Problem("metric_failed", "no letters", metric=self.name)
        value = float(abs(len(pair.reference) - len(pair.candidate)))
        parts = {"first": 1.0, f"of_{pair.reference}": value}
        return Score(value=value, parts=parts, counts=(value, 2.0), signature=self.signature)


def answer(mode: str, pair: Pair) -> Score | Problem:
    (metric,) = with_references([Length()], mode)  # type: ignore[arg-type]
    (found,) = metric.score([pair])
    return found


def test_the_best_brings_its_own_parts_and_counts() -> None:
    best = answer("best", PAIR)
    assert isinstance(best, Score)
    assert (best.value, best.counts) == (0, (0, 2))
    assert dict(best.parts) == {
        "first": 1,
        "of_xy": 0,
        "references_best": 0,
        "references_mean": pytest.approx(2 / 3),
    }
    assert best.evidence["references"]["best"] == 3
    assert [each["value"] for each in best.evidence["references"]["scores"]] == [1, 1, 0]


def test_the_mean_is_over_references_and_parts_over_those_that_have_them() -> None:
    mean = answer("mean", PAIR)
    assert isinstance(mean, Score)
    assert mean.value == mean.counts[0] == pytest.approx(2 / 3)
    assert {name: mean.parts[name] for name in ("first", "of_x", "of_xyz")} == {
        "first": 1,
        "of_x": 1,
        "of_xyz": 1,
    }


def test_one_reference_is_its_own_best_and_mean() -> None:
    pair = Pair(id="a", reference="x", candidate="xy")
    assert single_pairs(pair) == [pair]
    for mode in ("best", "mean"):
        found = answer(mode, pair)
        assert isinstance(found, Score)
        assert (found.value, found.parts["references_best"]) == (1, 1)


def test_a_reference_without_a_score_leaves_the_pair_without_one() -> None:
    pair = PairWithReferences(id="a", reference="x", candidate="xy", more_references=("1",))
    assert isinstance(answer("best", pair), Problem)


def test_metrics_that_prefetch_are_asked_about_every_reference() -> None:
    inner = Length()
    (metric,) = with_references([inner], "best")
    assert isinstance(metric, Prefetching)
    metric.prefetch([PAIR])
    assert inner.asked == ["x", "xyz", "xy"]
    metric.stop_prefetch()
    assert not inner.asked
    assert metric.ahead == 3


def test_it_survives_a_trip_to_another_process_and_signs_its_mode() -> None:
    (metric,) = with_references([Length()], "mean")
    copy = pickle.loads(pickle.dumps(metric))
    assert copy.score([PAIR]) == metric.score([PAIR])
    assert str(copy.signature).startswith("length|references:mean|")
    assert list(with_references([metric], None)) == [metric]
