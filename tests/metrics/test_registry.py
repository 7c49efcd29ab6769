"""Metrics by name: ours, registered ones, and plug-ins of installed packages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from histoeval import Metric, Score, SettingError
from histoeval.metrics import registry
from histoeval.metrics.base import PairMetric
from histoeval.metrics.registry import METRICS, MetricEntry, create, metric_entries, register


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


def test_settings_are_given_with_the_name_and_stand_in_the_signature() -> None:
    metric = create("bleu:order=2")
    assert metric.name == "bleu:order=2"
    assert "order:2" in str(metric.signature)


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("blue", r"no metric 'blue' \(did you mean 'bleu'\?\); known: bert_score, bertscore, bleu"),
        ("bleu:order", "'order' is not of the form name=value"),
        ("bleu:order=two", "order: input should be a valid integer"),
        ("bleu:ordre=2", "ordre"),
        ("bleu_2:order=3", "'order' cannot be set here"),
        ("hare:reader=x", "'reader' cannot be set here"),
        ("hare:mode=fast", "mode: input should be 'graded', 'paper' or 'upstream'"),
        ("hare:threshold=2", "threshold: input should be less than 1"),
    ],
)
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


PLUGIN = """
from histoeval.metric import Score
from histoeval.metrics.base import PairMetric

class Mine(PairMetric):
    def score_pair(self, reference, candidate):
        return Score(value=0.5, signature=self.signature)
"""
ENTRY_POINTS = """[histoeval.metrics]
mine = my_plugin:Mine
broken = no_such_module:Metric
bleu = my_plugin:Mine
"""
DRIVER = """
import sys, warnings
import histoeval
from histoeval.errors import SettingError
names = [metric.name for metric in histoeval.list_metrics()]
assert "my_plugin" not in sys.modules
assert {"mine", "broken", "bleu"} <= set(names)
print(histoeval.load("mine")("a", "b"))
print(float(histoeval.load("bleu")("a b c d", "a b c d")))
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    runs = [metric.name for metric in histoeval.list_metrics(runnable=True)]
print("mine" in runs, "broken" in runs, any("'broken'" in str(w.message) for w in caught))
try:
    histoeval.load("broken")
except SettingError as error:
    print(error)
"""


def test_a_plug_in_is_found_and_a_broken_one_breaks_nothing(tmp_path: Path) -> None:
    (tmp_path / "my_plugin.py").write_text(PLUGIN, "utf-8")
    package = tmp_path / "my_plugin-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text(ENTRY_POINTS)
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}){DRIVER}"
    lines = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert lines[:3] == ["mine = 0.500 (0 to 1)", "100.00000000000004", "True False True"]
    assert lines[3].startswith(
        "the metric 'broken', a plug-in of my-plugin, cannot be loaded: ModuleNotFoundError"
    )


def test_plug_ins_cannot_replace_our_metrics() -> None:
    assert metric_entries()["bleu"] is METRICS["bleu"]
