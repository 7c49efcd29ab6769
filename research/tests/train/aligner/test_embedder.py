"""An encoder that embeds phrases: what is cut from it, and how it learns."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import transformers

from benchmarks.random_models import ModelFolders
from histoeval.errors import ModelError
from histoeval_research.train.aligner.config import AlignerTraining, EmbedderShape
from histoeval_research.train.aligner.names import ConceptPool, NamedConcept
from histoeval_research.train.aligner.sampling import NameSampler, phrases_of
from histoeval_research.train.aligner.train import Embedder, learn, shape_encoder
from histoeval_research.train.core.encoder import cut_embeddings
from histoeval_research.train.core.loop import Checkpoint, TrainingStage

pytestmark = pytest.mark.heavy

LEARNING = AlignerTraining(epochs=2, draws=32, batch=8, rate=1e-3)


@pytest.fixture
def encoder(tiny_models: ModelFolders) -> Any:
    return transformers.AutoModel.from_pretrained(tiny_models.aligner).eval()


@pytest.fixture(scope="module")
def phrases() -> NameSampler:
    concepts = [
        NamedConcept([f"{n}a", f"{n}b"], 1.0, [f"{n}c"], {(n + 1) % 6}, {"g"}) for n in range(6)
    ]
    names = [name for c in concepts for name in (*c.names, *c.variants)]
    tokens = {name: [2, 10 + place, 30 + place % 3, 3] for place, name in enumerate(names)}
    return phrases_of(ConceptPool(concepts, {(0, 2)}), lambda some: [tokens[name] for name in some])


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_vector_has_length_one_and_padding_does_not_matter(encoder: Any, pooling: Any) -> None:
    embedder = Embedder(encoder, pooling).eval()
    with torch.inference_mode():
        alone = embedder(torch.tensor([[2, 7, 9, 3]]))
        padded = embedder(torch.tensor([[2, 7, 9, 3, 0, 0], [2, 7, 9, 11, 12, 3]]))
    assert torch.linalg.vector_norm(padded, dim=-1).numpy() == pytest.approx(np.ones(2), abs=1e-5)
    assert padded[0].numpy() == pytest.approx(alone[0].numpy(), abs=1e-5)
    assert (padded[0] - padded[1]).abs().max() > 1e-3


def test_the_first_layers_are_kept(encoder: Any) -> None:
    config = transformers.BertConfig(
        vocab_size=20, hidden_size=8, num_hidden_layers=3, num_attention_heads=2
    )
    deep = transformers.BertModel(config).eval()
    tokens = torch.tensor([[2, 7, 9, 3]])
    with torch.inference_mode():
        states = deep(tokens, output_hidden_states=True).hidden_states
        shape_encoder(deep, EmbedderShape(layers=2))
        assert torch.equal(deep(tokens).last_hidden_state, states[2])
    assert deep.config.num_hidden_layers == 2
    shape_encoder(deep, EmbedderShape())
    assert len(deep.encoder.layer) == 2
    with pytest.raises(ModelError, match="has 2 layers, and not 9"):
        shape_encoder(deep, EmbedderShape(layers=9))
    with pytest.raises(ModelError, match="cannot be found"):
        shape_encoder(Headless(config), EmbedderShape(layers=1))


def test_frozen_layers_and_what_is_below_them_do_not_learn(
    tiny_models: ModelFolders, phrases: NameSampler
) -> None:
    config = transformers.AutoConfig.from_pretrained(tiny_models.aligner, num_hidden_layers=2)
    encoder = transformers.AutoModel.from_config(config)
    encoder.pooler = None
    shape_encoder(encoder, EmbedderShape(frozen=1, dropout=0.0))
    before = {name: weights.clone() for name, weights in encoder.state_dict().items()}
    learn(Embedder(encoder, "mean"), phrases, LEARNING, tokens=8, seed=1)
    changed = {
        n for n, weights in encoder.state_dict().items() if not torch.equal(weights, before[n])
    }
    assert changed
    assert all("layer.1." in name for name in changed)
    assert all(m.p == 0.0 for m in encoder.modules() if isinstance(m, torch.nn.Dropout))


class Headless:
    def __init__(self, config: Any) -> None:
        self.config = config

    def modules(self) -> list[Any]:
        return [torch.nn.Linear(1, 1)]


def test_words_that_are_kept_have_the_vectors_they_had(encoder: Any) -> None:
    kept = [0, 1, 2, 3, 4, 9, 7]
    with torch.inference_mode():
        before = encoder(torch.tensor([[2, 9, 7, 3]])).last_hidden_state
        cut_embeddings(encoder, kept)
        after = encoder(torch.tensor([[2, 5, 6, 3]])).last_hidden_state
    assert torch.equal(before, after)
    assert encoder.config.vocab_size == len(kept)


def test_it_learns_and_a_stopped_training_goes_on_to_the_same_weights(
    tiny_models: ModelFolders, phrases: NameSampler, tmp_path: Path
) -> None:
    def train(
        stop_after: int | None, checkpoint: Path | None
    ) -> tuple[dict[str, Any], list[float]]:
        torch.manual_seed(0)
        encoder = transformers.AutoModel.from_pretrained(tiny_models.aligner)
        encoder.pooler = None
        embedder, losses = Embedder(encoder, "mean"), list[float]()

        def watch(step: int, steps: int, loss: float) -> None:
            losses.append(loss)
            if stop_after is not None and step > stop_after:
                raise KeyboardInterrupt

        learning = LEARNING.model_copy(update={"epochs": 6, "rate": 3e-3})
        learn(
            embedder,
            phrases,
            learning,
            tokens=8,
            seed=1,
            stage=TrainingStage(Checkpoint(checkpoint), watch),
        )
        return dict(embedder.state_dict()), losses

    whole, losses = train(None, None)
    assert losses[-1] < losses[0]
    with pytest.raises(KeyboardInterrupt):
        train(15, tmp_path / "checkpoint.pt")
    again, _ = train(None, tmp_path / "checkpoint.pt")
    assert all(torch.equal(whole[name], again[name]) for name in whole)


def test_what_stands_beside_the_vectors_is_learned_with(encoder: Any, phrases: NameSampler) -> None:
    """Where the channel alone tells all concepts apart, there is less to learn."""
    concept = np.repeat(np.arange(6), 3)
    apart = np.where(concept[:, None] == np.arange(6), 100, 0).astype(np.int8)
    told = replace(phrases, beside=apart)
    heard: dict[float, float] = {}
    for weight in (0.0, 3.0):
        torch.manual_seed(0)
        learning = LEARNING.model_copy(update={"channel": weight, "rate": 1e-9, "epochs": 1})

        def hear(step: int, steps: int, loss: float, weight: float = weight) -> None:
            heard[weight] = loss

        learn(
            Embedder(encoder, "mean"),
            told,
            learning,
            tokens=8,
            seed=1,
            stage=TrainingStage(watch=hear),
        )
    assert heard[3.0] < heard[0.0]
