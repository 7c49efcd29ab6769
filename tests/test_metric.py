from __future__ import annotations

import copy
import pickle

import pytest
from pydantic import ValidationError

from histoeval import Metric, Score, SettingError, Signature
from histoeval.metrics.registry import METRICS, MetricEntry, create, register


def test_a_signature_is_one_line_that_names_metric_settings_and_version() -> None:
    signature = Signature(metric="hare", settings={"mode": "paper", "threshold": "0.7"})
    assert str(signature).startswith("hare|mode:paper|threshold:0.7|histoeval:")
    assert "\n" not in str(signature)


def test_json_in_json_out_is_the_same_score() -> None:
    score = Score(
        value=0.5,
        parts={"recall": 0.25},
        evidence={"matched": [{"text": "ER", "cosine": 1.0}]},
        counts=(1, 2),
        signature=Signature(metric="x", settings={"a": "b"}),
    )
    assert Score.model_validate_json(score.model_dump_json()) == score
    assert pickle.loads(pickle.dumps(score)) == score == copy.deepcopy(score)


def test_the_parts_of_a_score_cannot_be_changed() -> None:
    score = Score(value=0.5, parts={"recall": 0.25}, signature=Signature(metric="x"))
    with pytest.raises(TypeError):
        score.parts["recall"] = 1.0  # type: ignore[index]
    with pytest.raises(TypeError):
        score.parts.update(recall=1.0)  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_score_is_a_number(value: float) -> None:
    with pytest.raises(ValidationError):
        Score(value=value, signature=Signature(metric="x"))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_says_what_it_is(name: str) -> None:
    metric = create(name)
    assert isinstance(metric, Metric)
    assert metric.name == name
    assert metric.higher_is_better is True
    low, high = metric.range
    assert low < high
    assert str(metric.signature).startswith(f"{name}|")
    assert METRICS[name].summary


def test_settings_are_given_with_the_name_and_stand_in_the_signature() -> None:
    metric = create("bleu:order=2")
    assert metric.name == "bleu:order=2"
    assert "order:2" in str(metric.signature)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("blue", "no metric 'blue'; known: bert_score, bertscore, bleu"),
        ("bleu:order", "'order' is not of the form name=value"),
        ("bleu:order=two", "order: input should be a valid integer"),
        ("bleu:ordre=2", "ordre"),
        ("bleu_2:order=3", "'order' cannot be set here"),
        ("hare:reader=x", "'reader' cannot be set here"),
        ("hare:mode=fast", "mode: input should be 'paper' or 'upstream'"),
        ("hare:threshold=2", "threshold: input should be less than 1"),
    ],
)
def test_a_wrong_specification_is_refused_with_the_reason(spec: str, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        create(spec)


def test_a_metric_of_ones_own_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = MetricEntry("histoeval.metrics.bleu:Bleu", "mine", {"order": 3})
    monkeypatch.setitem(METRICS, "my_bleu", METRICS["bleu"])  # so that it is gone afterwards
    register("my_bleu", entry)
    assert "order:3" in str(create("my_bleu").signature)
