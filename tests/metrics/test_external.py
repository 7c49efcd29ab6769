"""Adapters of other people's metrics, with tiny packages that stand for the real ones.

What the real ones are called with, and what they answer, is as their documentation says.
"""

import importlib.machinery
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import pytest

from histoeval.errors import Problem, SettingError
from histoeval.metric import Metric, Score
from histoeval.metrics.registry import METRICS, create
from histoeval.report import Pair
from histoeval.run.doctor import metric_states

PEERS = ("bert_score", "radgraph_xl", "ratescore", "green", "radeval")
PAIRS = [
    Pair(id="1", reference="no tumour seen", candidate="no tumour seen"),
    Pair(id="2", reference="no tumour seen", candidate="tumour"),
]


def shared(candidate: str, reference: str) -> float:
    """The share of the reference's words that the candidate has; it tells the two apart."""
    words = reference.split()
    return sum(word in candidate.split() for word in words) / len(words)


def each(candidates: Sequence[str], references: Sequence[str]) -> list[float]:
    return [shared(c, r) for c, r in zip(candidates, references, strict=True)]


class BERTScorer:
    def __init__(self, model_type: str, lang: str, rescale_with_baseline: bool) -> None:
        assert (model_type, lang, rescale_with_baseline) == ("roberta-large", "en", False)

    def score(self, cands: list[str], refs: list[str]) -> tuple[list[float], ...]:
        return [9.0], [9.0], each(cands, refs)


class F1RadGraph:
    def __init__(self, reward_level: str, model_type: str) -> None:
        assert (reward_level, model_type) == ("partial", "radgraph-xl")

    def __call__(self, hyps: list[str], refs: list[str]) -> tuple[Any, ...]:
        return 0.5, each(hyps, refs), [], []


class RaTEScore:
    def __init__(self, bert_model: str, eval_model: str, use_gpu: bool) -> None:
        assert (bert_model, eval_model) == (
            "Angelakeke/RaTE-NER-Deberta",
            "FremyCompany/BioLORD-2023-C",
        )
        assert use_gpu in (True, False)

    def compute_score(self, candidates: list[str], references: list[str]) -> list[float]:
        return each(candidates, references)


class GREEN:
    def __init__(self, model_name: str, output_dir: str) -> None:
        assert model_name == "StanfordAIMI/GREEN-radllama2-7b"

    def __call__(self, refs: list[str], hyps: list[str]) -> tuple[Any, ...]:
        return 0.5, 0.1, each(hyps, refs), "summary", None


class RadEval:
    def __init__(self, metrics: list[str], per_sample: bool, show_progress: bool) -> None:
        assert per_sample
        assert not show_progress
        if metrics == ["none"]:
            raise ValueError("Unknown metric")
        (self._name,) = metrics

    def __call__(self, refs: list[str], hyps: list[str]) -> dict[str, Any]:
        values = each(hyps, refs)
        if self._name == "bleu":
            return {"bleu": values}
        kinds = ("simple", "partial", "complete") if self._name == "radgraph" else ("1", "2")
        nines = [9.0] * len(values)
        return {f"{self._name}_{kind}": values if kind == "partial" else nines for kind in kinds}


MODULES: dict[str, type] = {
    "bert_score": BERTScorer,
    "radgraph": F1RadGraph,
    "RaTEScore": RaTEScore,
    "green_score": GREEN,
    "radeval": RadEval,
}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, member in MODULES.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
        setattr(module, member.__name__, member)
        monkeypatch.setitem(sys.modules, name, module)


def values(metric: Metric) -> list[float]:
    return [said.value for said in metric.score(PAIRS) if isinstance(said, Score)]


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    "name", [pytest.param(p, marks=pytest.mark.heavy) if p == "ratescore" else p for p in PEERS]
)
def test_candidates_and_references_reach_the_package_in_their_places(name: str) -> None:
    metric = create(name)
    assert metric.unavailable_reason() is None
    assert values(metric) == pytest.approx([1.0, 1 / 3])
    assert str(metric.signature).startswith(f"{name}|")


@pytest.mark.parametrize("name", PEERS)
def test_a_missing_package_is_said_to_install(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("histoeval.metrics.external.find_spec", lambda module: None)
    metric = create(name)
    reason = metric.unavailable_reason()
    assert reason is not None
    assert "pip install 'histoeval[peers]'" in reason
    assert "downloads" in reason
    with pytest.raises(SettingError, match="needs the package"):
        metric.score(PAIRS)
    assert METRICS[name].needs.startswith("[peers]")


def test_making_a_peer_imports_nothing_of_it() -> None:
    for name in PEERS:
        create(name)
    assert not {"bert_score", "radgraph", "green_score"} & set(sys.modules)


@pytest.mark.usefixtures("installed")
def test_one_of_several_numbers_must_be_named() -> None:
    assert values(create("radeval:metric=bleu")) == pytest.approx([1.0, 1 / 3])
    with pytest.raises(SettingError, match="radeval:metric=rouge:key=NAME, of rouge_1, rouge_2"):
        create("radeval:metric=rouge").score(PAIRS)
    assert values(create("radeval:metric=rouge:key=rouge_2")) == [9.0, 9.0]
    with pytest.raises(SettingError, match="cannot make its metric 'none'"):
        create("radeval:metric=none").score(PAIRS)


def test_what_was_never_run_with_its_real_model_is_marked() -> None:
    states = {each.name: each.state for each in metric_states()}
    for name in ("radgraph_xl", "ratescore", "green"):
        assert METRICS[name].untested
        assert states[name].endswith("untested")
    assert not [name for name in METRICS if METRICS[name].untested and name not in PEERS]


def test_the_real_packages_take_what_the_fakes_take() -> None:
    """Where a package is installed: its parameters have the names that adapters use."""
    wanted = {
        "radgraph": ("F1RadGraph", {"reward_level", "model_type"}),
        "RaTEScore": ("RaTEScore", {"bert_model", "eval_model", "use_gpu"}),
        "radeval": ("RadEval", {"metrics", "per_sample", "show_progress"}),
        "bert_score": ("BERTScorer", {"model_type", "lang", "rescale_with_baseline"}),
    }
    found = {name for name in wanted if importlib.util.find_spec(name) is not None}
    if not found:
        pytest.skip("none of the packages is installed")
    for name in found:
        member, parameters = wanted[name]
        made = getattr(importlib.import_module(name), member)
        assert parameters <= set(inspect.signature(made).parameters)


@pytest.mark.heavy
@pytest.mark.usefixtures("installed")
def test_what_is_no_number_is_a_problem_and_no_score(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RaTEScore, "compute_score", lambda *_: [float("nan"), 0.5])
    first, second = create("ratescore").score(PAIRS)
    assert isinstance(first, Problem)
    assert isinstance(second, Score)
    monkeypatch.setattr(RaTEScore, "compute_score", lambda *_: [0.5])
    with pytest.raises(SettingError, match="1 scores for 2 pairs"):
        create("ratescore").score(PAIRS)
