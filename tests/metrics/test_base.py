"""What every metric can do, whoever wrote it."""

import pickle
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from pydantic.dataclasses import dataclass

import histoeval
from histoeval import HistoEvalError, Metric, Pair, Problem, Score, SettingError, Signature
from histoeval.metrics.base import (
    MAX_CHARS,
    STRICT,
    MetricBase,
    PairMetric,
    as_metric,
    explain_pair,
    length_problem,
)
from histoeval.metrics.registry import create

TRUE, OURS = ["a b c d", "e f g h"], ["a b c d", "e f g x"]


class Length(MetricBase):
    """The length of the candidate; a gap has none."""

    name = "length"

    @property
    def range(self) -> tuple[float, float]:
        return (0.0, float("inf"))

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [self._length(pair.candidate) for pair in pairs]

    def _length(self, text: str) -> Score | Problem:
        if text == "?":
            return Problem(code="gap", message="there is no candidate")
        return Score(value=len(text), signature=self.signature)


def test_a_name_and_a_score_make_a_metric() -> None:
    metric = Length()
    assert isinstance(metric, Metric)
    assert str(metric("a", "bcd")) == "length = 3.000 (0 to infinity)"
    with pytest.raises(HistoEvalError, match="length: there is no candidate"):
        metric("a", "?")


def test_a_corpus_is_scored_at_once_or_collected() -> None:
    bleu = create("bleu")
    at_once = bleu.compute(predictions=OURS, references=TRUE)
    for ours, true in zip(OURS, TRUE, strict=True):
        bleu.update(ours, true)
    assert bleu.compute() == at_once
    assert at_once.value != at_once.mean
    assert float(at_once) == at_once.value
    assert 'pairs</td><td class="n">2' in at_once._repr_html_()
    bleu.reset()
    with pytest.raises(HistoEvalError, match="no pairs given"):
        bleu.compute()


def test_pairs_without_a_score_do_not_count() -> None:
    found = Length().compute(predictions=["ab", "?"], references=["x", "y"])
    assert (found.value, len(found.scores), len(found.problems)) == (2.0, 2, 1)
    with pytest.raises(HistoEvalError, match="there is no candidate"):
        Length().compute(predictions=["?"], references=["x"])
    with pytest.raises(SettingError, match="2 candidates for 1 references"):
        Length().compute(predictions=["a", "b"], references=["x"])


def test_columns_of_texts_are_taken_and_what_has_no_order_is_refused() -> None:
    rouge = histoeval.load("rouge_l")
    texts: list[Any] = [np.array(["a b", "c"]), iter(["a b", "c"]), ("a b", "c")]
    for candidates in texts:
        assert rouge.compute(predictions=candidates, references=["a b", "c"]).value == 1
    wrong: list[Any] = [{"a b", "c"}, {"a b": 1, "c": 2}, 3]
    for candidates in wrong:
        with pytest.raises(SettingError, match="give a list of texts"):
            rouge.compute(predictions=candidates, references=["a b", "c"])


def test_what_was_collected_is_of_one_metric_alone() -> None:
    one, other = create("bleu"), create("bleu")
    one.update("a", "a")
    assert one == other
    with pytest.raises(HistoEvalError):
        other.compute()
    assert pickle.loads(pickle.dumps(one)).compute() == one.compute()


class Foreign:
    """A metric with the old protocol and nothing else."""

    name = "foreign"
    higher_is_better = False
    range = (0.0, 9.0)
    signature = Signature(metric="foreign", settings={"by": "others"})

    def obstacle(self) -> str | None:
        return None

    def score(self, pairs: Sequence[Pair]) -> list[Score | Problem]:
        return [Score(value=len(pair.candidate), signature=self.signature) for pair in pairs]

    def corpus_value(self, mean: float, counts: Sequence[float]) -> float:
        return 2 * mean


def test_somebody_elses_metric_can_do_what_ours_can() -> None:
    metric = as_metric(Foreign())
    with pytest.warns(DeprecationWarning, match="Foreign.obstacle"):
        assert metric("a", "bcd").value == 3
    with pytest.warns(DeprecationWarning, match="obstacle"):
        assert metric.compute(predictions=["bcd"], references=["a"]).value == 6
    with pytest.warns(DeprecationWarning, match="obstacle"):
        found = histoeval.score("a", "bcd", metrics=[Foreign()])  # type: ignore[list-item]
    assert found.summary["metrics"]["foreign"]["higher_is_better"] is False
    assert found.summary["metrics"]["foreign"]["signature"] == str(Foreign.signature)


def test_old_method_names_of_a_metric_still_work() -> None:
    with pytest.warns(DeprecationWarning, match=r"Old\.(obstacle|pins)") as warned:

        @dataclass(frozen=True, config=STRICT)
        class Old(PairMetric):
            def obstacle(self) -> str | None:
                return super().obstacle() or "is not for everyone"

            def pins(self) -> dict[str, str]:
                return {"library": "1.0"}

            def score_pair(self, reference: str, candidate: str) -> Score:
                return Score(value=1, signature=self.signature)

    assert len(warned) >= 2
    metric = Old(name="old")
    assert "library:1.0" in str(metric.signature)
    with pytest.warns(DeprecationWarning, match="obstacle"):
        assert metric.unavailable_reason() == "is not for everyone"
    with pytest.warns(DeprecationWarning, match="unavailable_reason"):
        assert create("bleu").obstacle() is None  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        ("x" * (MAX_CHARS + 1), "the candidate has 200,001 characters"),
        ("Côlon, biopsie : adénocarcinome moyennement différencié, sans embole.", "French"),
    ],
)
def test_what_is_not_scored_is_not_explained_either(candidate: str, why: str) -> None:
    metric = histoeval.load("concordance")
    pair = Pair(id="1", reference="Colon: adenoma.", candidate=candidate)
    (answer,) = metric.score([pair])
    assert isinstance(answer, Problem)
    assert why in answer.message
    assert answer.metric == "concordance"
    assert length_problem(reference="x" * MAX_CHARS) is None
    with pytest.raises(HistoEvalError, match=re.escape(answer.message[:60])):
        explain_pair(metric, pair)
