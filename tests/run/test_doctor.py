"""What a machine has: the short answers are those of the metrics, and load nothing."""

import subprocess
import sys
from importlib.metadata import metadata

import pytest

from histoeval.metric import Score
from histoeval.metrics import registry
from histoeval.metrics.base import PairMetric
from histoeval.run.doctor import (
    EXTRAS,
    READY,
    metric_details,
    metric_states,
    overview,
    packages,
    plug_ins,
    ready_line,
)


def test_the_short_answer_is_the_one_of_the_metric_itself() -> None:
    for name, _, state in metric_states():
        assert (metric_details(name)[1] is None) == (state == READY), name


def test_what_is_not_ready_is_said_with_what_it_needs() -> None:
    line = ready_line(metric_states())
    assert line.startswith(f"{sum(s.state == READY for s in metric_states())} of ")
    assert "reg2025, bertscore (needs an encoder)" in line


def test_metrics_from_outside_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "METRICS", dict(registry.METRICS))

    @registry.register("mine")
    class Mine(PairMetric):
        """My own."""

        def score_pair(self, reference: str, candidate: str) -> Score:
            return Score(value=1.0, signature=self.signature)

    assert plug_ins() == ["mine"]
    assert metric_states()[-1] == ("mine", "My own", READY)


def test_every_extra_installs_something_and_is_in_the_overview() -> None:
    declared = set(metadata("histoeval").get_all("Provides-Extra") or ())
    assert {extra for extra in EXTRAS if extra} == declared - {"dev", "dev-all", "docs"}
    assert all(packages(extra) for extra in EXTRAS)
    assert "torch" in packages("train"), "of the research distribution"
    assert [item.what for item in overview()][:2] == ["histoeval", "extra [hf]"]


def test_neither_torch_nor_a_model_is_loaded_for_the_short_answers() -> None:
    code = (
        "import sys; from histoeval.run.doctor import *; list(overview()); metric_states(); "
        "assert not {'torch', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
