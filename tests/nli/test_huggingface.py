"""Transformers models for NLI: their own names for the answers, each pair by itself."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from histoeval.errors import ModelError
from histoeval.nli.entailer import NliPair
from histoeval.nli.huggingface import HuggingFaceEntailer, answer_order
from histoeval.runtime.transformer import Runtime

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def folder(tiny_models: ModelFolders, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transformers import AutoConfig, AutoModelForSequenceClassification

    home: Path = tmp_path_factory.mktemp("hf") / "nli"
    shutil.copytree(tiny_models.aligner, home)
    config = AutoConfig.from_pretrained(home)
    config.id2label = {0: "CONTRADICTION", 1: "Entailment", 2: "neutral"}
    config.label2id = {name: number for number, name in config.id2label.items()}
    torch.manual_seed(0)
    AutoModelForSequenceClassification.from_config(config).save_pretrained(home)
    return home


def test_answers_come_in_our_order_and_do_not_depend_on_others(folder: Path) -> None:
    model = HuggingFaceEntailer(folder, Runtime("cpu"))
    pairs = [NliPair("left breast", "right breast"), NliPair("no invasion seen", "tumour " * 700)]
    both = model.judge(pairs)
    assert both == [model.judge([pair])[0] for pair in reversed(pairs)][::-1]
    inputs = model.transformer.tokenizer(*pairs[0], return_tensors="pt")
    with torch.inference_mode():
        theirs = model.transformer.model(**inputs).logits[0].softmax(-1).tolist()
    assert list(both[0]) == pytest.approx([theirs[1], theirs[2], theirs[0]], abs=1e-5)


def test_the_order_is_told_by_the_names_of_the_answers() -> None:
    assert answer_order({0: "entailment", 1: "neutral", 2: "contradiction"}, "m") == (0, 1, 2)
    assert answer_order({0: "contradicts", 1: "ENTAILS", 2: "Neutral"}, "m") == (1, 2, 0)


@pytest.mark.parametrize(
    "labels",
    [
        {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"},
        {0: "entailment", 1: "not_entailment"},
        {0: "entailment", 1: "entailment", 2: "neutral"},
    ],
)
def test_answers_whose_names_say_nothing_are_refused(labels: dict[int, str]) -> None:
    with pytest.raises(ModelError, match="does not say which of its answers"):
        answer_order(labels, "m")
