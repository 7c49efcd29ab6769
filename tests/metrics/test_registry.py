"""Metrics by name: ours, registered ones, and plug-ins of installed packages."""

import pytest

from histoeval import Metric, Score, SettingError
from histoeval.metrics import registry
from histoeval.metrics.base import PairMetric
from histoeval.metrics.registry import METRICS, MetricEntry, create, metric_entries, register
from tests.support.tables import from_table


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone afterwards."""
    monkeypatch.setattr(registry, "METRICS", dict(METRICS))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_every_metric_describes_itself(name: str) -> None:
    metric = create(name)
    assert isinstance(metric, Metric)
    assert metric.name == name
    low, high = metric.range
    assert low < high
    assert str(metric.signature).startswith(f"{name}|")
    assert METRICS[name].summary


@from_table
def test_a_wrong_specification_is_refused_with_the_reason(spec: str, complaint: str) -> None:
    with pytest.raises(SettingError, match=complaint):
        create(spec)


def test_an_entry_is_found_by_name() -> None:
    register("my_bleu", MetricEntry("histoeval.metrics.bleu:Bleu", "mine", {"order": 3}))
    assert "order:3" in str(create("my_bleu").signature)


def test_a_class_or_a_factory_is_registered_by_a_decorator() -> None:
    @register("same_length")
    class SameLength(PairMetric):
        """Whether both are as long. And more."""

        def score_pair(self, reference: str, candidate: str) -> Score:
            return Score(value=len(reference) == len(candidate), signature=self.signature)

    @register("short_bleu")
    def short_bleu(order: str = "2") -> Metric:
        return create(f"bleu_{order}")

    assert create("same_length")("ab", "cd").value == 1
    assert registry.METRICS["same_length"].summary == "Whether both are as long. And more"
    assert create("short_bleu:order=1").name == "bleu_1"


def test_plug_ins_cannot_replace_our_metrics() -> None:
    assert metric_entries()["bleu"] is METRICS["bleu"]
