"""Metrics as modules of evaluate: the numbers are ours, the manners are evaluate's."""

from pathlib import Path
from typing import Any

import pytest

import histoeval

evaluate = pytest.importorskip("evaluate")

from histoeval.adapters import evaluate as adapter

pytestmark = pytest.mark.heavy

REFERENCES = ["left breast carcinoma grade two", "colon adenoma with low grade dysplasia"]
CANDIDATES = ["left breast carcinoma grade one", "colon adenoma with dysplasia of low grade"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where evaluate would keep texts and modules."""
    monkeypatch.setattr(evaluate.config, "HF_METRICS_CACHE", str(tmp_path))
    return tmp_path


def test_the_corpus_value_is_ours_and_nothing_is_written(cache: Path) -> None:
    bleu = adapter.load("bleu")
    assert isinstance(bleu, evaluate.EvaluationModule)
    expected = histoeval.load("bleu").compute(predictions=CANDIDATES, references=REFERENCES)
    found = bleu.compute(predictions=CANDIDATES, references=REFERENCES)
    assert found == {"bleu": expected.value, "bleu_coverage": 1.0}
    assert expected.value != expected.mean
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_pairs_are_added_one_by_one_and_in_batches() -> None:
    rouge = adapter.load("rouge_l")
    rouge.add(prediction=CANDIDATES[0], reference=REFERENCES[0])
    rouge.add_batch(predictions=CANDIDATES[1:], references=REFERENCES[1:])
    together = adapter.load("rouge_l").compute(predictions=CANDIDATES, references=REFERENCES)
    assert rouge.compute() == together


def test_modules_are_combined_under_the_names_of_their_metrics() -> None:
    both = evaluate.combine([adapter.load("rouge_l"), adapter.load("bleu:order=2")])
    found = both.compute(predictions=CANDIDATES, references=REFERENCES)
    assert set(found) == {"rouge_l", "rouge_l_coverage", "bleu:order=2", "bleu:order=2_coverage"}
    prefixed = evaluate.combine([adapter.load("rouge_l"), adapter.load("bleu")], force_prefix=True)
    assert "bleu_bleu" in prefixed.compute(predictions=CANDIDATES, references=REFERENCES)


def test_details_name_what_has_no_score() -> None:
    rouge = adapter.load("rouge_l")
    found = rouge.compute(predictions=["a b", " "], references=["a b", "c"], details=True)
    assert found["rouge_l_coverage"] == 0.5
    assert found["rouge_l_scores"] == [1.0, None]
    assert "candidate is empty" in found["rouge_l_problems"][1]
    assert found["rouge_l_signature"].startswith("rouge_l|")
    with pytest.raises(histoeval.HistoEvalError, match="candidate is empty"):
        adapter.load("rouge_l").compute(predictions=[""], references=["a"])


def test_a_missing_text_is_counted_wherever_it_stands() -> None:
    rouge = adapter.load("rouge_l")
    for texts in ([None, "a b"], ["a b", None]):
        found = rouge.compute(predictions=texts, references=["a b", "a b"])
        assert found == {"rouge_l": 1, "rouge_l_coverage": 0.5}


@pytest.mark.parametrize(
    ("predictions", "references"),
    [
        ("a b", "a b"),
        (["a b"], None),
        ([], []),
        (["a", "b"], ["a", ["b", "c"]]),
        (["a", "b"], [["b", "c"], "a"]),
    ],
)
def test_what_is_no_list_of_texts_is_not_scored(predictions: Any, references: Any) -> None:
    with pytest.raises(histoeval.SettingError, match="must be"):
        adapter.load("rouge_l").compute(predictions=predictions, references=references)


def test_a_setting_that_would_be_ignored_is_refused() -> None:
    with pytest.raises(histoeval.SettingError, match=r"no setting 'order'.*bleu:order=2"):
        adapter.load("bleu", order=2)


def test_evaluate_loads_the_file_by_its_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(evaluate.config, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    rouge = evaluate.load(adapter.__file__, "rouge_l", keep_in_memory=True)
    assert rouge.compute(predictions=["a b"], references=["a b"])["rouge_l"] == 1
