"""Training an aligner from names to the folder that is loaded without torch."""

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")


from histoeval.align.builtin import BuiltinAligner
from histoeval.align.huggingface import HuggingFaceEncoder
from histoeval.runtime.transformer import Runtime
from histoeval_research.train.aligner.config import AlignerSettings
from histoeval_research.train.aligner.train import begin, learn
from histoeval_research.train.core.loop import TrainingSite
from histoeval_research.train.hare_bench.bench import save
from tests.support.tiny_corpus import Learned

pytestmark = pytest.mark.heavy

CPU = TrainingSite("cpu")


@pytest.fixture
def told(tiny_aligner: Learned) -> dict[str, Any]:
    return tiny_aligner.settings


@pytest.fixture
def trained(tiny_aligner: Learned) -> Path:
    return tiny_aligner.folder


def test_the_folder_is_whole_and_says_what_it_is(trained: Path) -> None:
    results = json.loads((trained / "results.json").read_text("utf-8"))
    ours = {"encoder.onnx", "tokenizer.json", "aligner.json", "results.json", "README.md"}
    theirs = {"config.json", "model.safetensors", "tokenizer_config.json"}
    assert ours | theirs <= {file.name for file in trained.iterdir()}
    assert results["samples"]["concepts"] > 20
    assert set(results["scores"]["retrieval"]) == {"preferred names", "all other names"}
    assert results["scores"]["opposites"]["laterality"]["rows"] == 1
    card = (trained / "README.md").read_text("utf-8")
    assert "Of our own | writing." in card
    assert "learning.margin" in card
    assert str(trained.parent) not in card + json.dumps(results), "no word on where files lie"


def test_both_ways_to_load_the_folder_embed_alike(trained: Path) -> None:
    aligner = BuiltinAligner(trained)
    phrases = ["breast carcinoma", "carcinoma of breast", "lung cyst"]
    rows = aligner.embed(phrases)
    assert rows.shape == (3, aligner.manifest.size)
    assert rows[0] @ rows[1] > rows[0] @ rows[2], "two epochs suffice for that"
    other = HuggingFaceEncoder(trained, pooling="mean", runtime=Runtime("cpu"))
    assert (rows * other.embed(phrases)).sum(axis=1).min() > 0.99


def test_two_trainings_give_the_same_weights(
    told: dict[str, Any], trained: Path, tmp_path: Path
) -> None:
    settings = AlignerSettings.model_validate(told)
    again = begin(settings, CPU)
    learn(again.embedder, again.phrases, settings.learning, tokens=32, seed=settings.seed)
    save(again.embedder.encoder, again.for_transformers, tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == (
        trained / "model.safetensors"
    ).read_bytes()


def test_no_name_of_a_held_out_concept_is_among_the_phrases(told: dict[str, Any]) -> None:
    half = AlignerSettings.model_validate(told | {"naming": told["naming"] | {"held_out": 0.5}})
    few, many = begin(half, CPU), begin(AlignerSettings.model_validate(told), CPU)
    assert few.concepts < many.concepts
    assert set(few.tokenizer.get_vocab()) <= set(many.tokenizer.get_vocab())
