"""BERTScore and REG2025 against their published definitions, restated here."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from histoeval import Pair, Score
from histoeval.align.huggingface import HuggingFaceEncoder
from histoeval.metrics.registry import create
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.runtime.transformer import Runtime
from tests.support.report_words import make_report

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

CPU = Runtime(device="cpu")


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    source = random.Random(5)
    drawn = []
    for number in range(25):
        reference = make_report(source, source.randint(5, 60))
        other = make_report(source, source.randint(5, 30))
        candidate = reference[: len(reference) // 2] + " " + other
        drawn.append(Pair(id=str(number), reference=reference, candidate=candidate))
    return drawn


def test_bertscore_is_greedy_matching_in_which_special_tokens_do_not_count(
    tiny_models: ModelFolders, pairs: list[Pair]
) -> None:
    metric = create(
        "bertscore",
        {"encoder": HuggingFaceEncoder(tiny_models.aligner, most_tokens=512, runtime=CPU)},
    )
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_models.aligner)
    model = transformers.AutoModel.from_pretrained(tiny_models.aligner).eval()

    def states(text: str) -> Any:
        with torch.no_grad():
            rows = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
        return torch.nn.functional.normalize(rows, dim=1)

    for pair, score in zip(pairs, metric.score(pairs), strict=True):
        assert isinstance(score, Score)
        similarity = states(pair.candidate) @ states(pair.reference).T
        precision = similarity.max(dim=1).values[1:-1].mean().item()
        recall = similarity.max(dim=0).values[1:-1].mean().item()
        assert score.parts["precision"] == pytest.approx(precision, abs=1e-5)
        assert score.parts["recall"] == pytest.approx(recall, abs=1e-5)
        f1 = 2 * precision * recall / (precision + recall)
        assert score.value == pytest.approx(f1, abs=1e-5)
        assert score.parts["candidate_seen"] == 1.0


def test_bertscore_says_what_share_of_a_long_report_it_saw(tiny_models: ModelFolders) -> None:
    metric = create(
        "bertscore",
        {"encoder": HuggingFaceEncoder(tiny_models.aligner, most_tokens=512, runtime=CPU)},
    )
    pair = Pair(id="1", reference="benign", candidate="benign " * 2040)
    (score,) = metric.score([pair])
    assert isinstance(score, Score)
    assert score.parts["candidate_seen"] == pytest.approx(0.25, abs=0.01)


def longest_common(left: list[str], right: list[str]) -> int:
    table = np.zeros((len(left) + 1, len(right) + 1), dtype=int)
    for i, a in enumerate(left, 1):
        for j, b in enumerate(right, 1):
            best = max(table[i - 1, j], table[i, j - 1])
            table[i, j] = table[i - 1, j - 1] + 1 if a == b else best
    return int(table[-1, -1])


def test_literal_reg2025_is_the_challenges_own_formula(
    tiny_models: ModelFolders, pairs: list[Pair]
) -> None:
    reader = HuggingFaceReader(tiny_models.entities, None, runtime=CPU)
    encoder = HuggingFaceEncoder(tiny_models.aligner, pooling="mean", most_tokens=512, runtime=CPU)
    metric = create("reg2025:mode=literal", {"reader": reader, "encoder": encoder})
    repeats = Pair(id="r", reference="a b c d " * 4, candidate="a b c d a b c d")
    for pair, score in zip([*pairs, repeats], metric.score([*pairs, repeats]), strict=True):
        assert isinstance(score, Score)
        left, right = pair.reference.lower().split(), pair.candidate.lower().split()
        common = longest_common(left, right)
        precision, recall = common / len(right), common / len(left)
        rouge = 2 * precision * recall / (precision + recall) if common else 0.0
        grams = [
            [tuple(words[i : i + 4]) for i in range(len(words) - 3)]
            for words in (pair.reference.split(), pair.candidate.split())
        ]
        hits = sum(min(grams[1].count(g), grams[0].count(g)) for g in grams[1])
        bleu = hits / len(grams[1]) if grams[1] else 0.0
        keys = [
            {e.text.lower() for e in report.entities if len(e.text) >= 3}
            for report in reader.read([pair.reference, pair.candidate])
        ]
        union = keys[0] | keys[1]
        key = len(keys[0] & keys[1]) / len(union) if union else 0.0
        vectors = encoder.embed([pair.reference, pair.candidate])
        cosine = float(vectors[0] @ vectors[1])
        embedding = (cosine - 0.5) / 0.5 if cosine > 0.5 else cosine
        expected = 0.15 * (rouge + bleu) + 0.4 * key + 0.3 * embedding
        assert score.value == pytest.approx(expected, abs=1e-6), pair.id
    assert bleu > 1, "the challenge's BLEU counts repeats"


def test_corrected_reg2025_stays_within_its_range(
    tiny_models: ModelFolders, pairs: list[Pair]
) -> None:
    reader = HuggingFaceReader(tiny_models.entities, None, runtime=CPU)
    encoder = HuggingFaceEncoder(tiny_models.aligner, pooling="mean", runtime=CPU)
    metric = create("reg2025", {"reader": reader, "encoder": encoder})
    repeats = Pair(id="r", reference="a b c d " * 4, candidate="a b c d a b c d")
    same = Pair(id="s", reference=pairs[0].reference, candidate=pairs[0].reference)
    scores = metric.score([*pairs, repeats, same])
    values = [score.value for score in scores if isinstance(score, Score)]
    assert len(values) == len(scores)
    assert all(0 <= value <= 1 + 1e-6 for value in values)
    assert values[-1] == pytest.approx(1.0, abs=1e-5)
