"""`mode=upstream` follows the published arithmetic, as we restate it here pass by pass.

The authors' code and weights are not run: both sides of this comparison are ours.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers

from histoeval import Pair, Score
from histoeval.align.huggingface import HuggingFaceEncoder
from histoeval.metrics.registry import create
from histoeval.reader.huggingface import HuggingFaceReader
from histoeval.reader.upstream import UpstreamReader
from histoeval.runtime.transformer import Runtime
from tests.support.report_words import WORDS, make_report

if TYPE_CHECKING:
    from benchmarks.random_models import ModelFolders

pytestmark = pytest.mark.heavy

CPU = Runtime(device="cpu")


class Published:
    """The released procedure: one text, one pair of entities and one pass at a time."""

    def __init__(self, folders: ModelFolders) -> None:
        auto = transformers
        self.ner = auto.pipeline(
            "ner",
            model=str(folders.entities),
            tokenizer=str(folders.entities),
            aggregation_strategy="average",
            device="cpu",
        )
        self.relation_tokenizer = auto.AutoTokenizer.from_pretrained(folders.relations)
        self.relation_model = auto.AutoModelForSequenceClassification.from_pretrained(
            folders.relations
        ).eval()
        self.align_tokenizer = auto.AutoTokenizer.from_pretrained(folders.aligner)
        self.align_model = auto.AutoModel.from_pretrained(folders.aligner).eval()
        self.tail_first = 0
        self.longest = 0
        self.empty_sides = 0

    def entities(self, text: str) -> list[dict[str, Any]]:
        ids = self.ner.tokenizer.encode(text)
        self.longest = max(self.longest, len(ids))
        found: list[dict[str, Any]] = []
        for start in range(0, len(ids), 450):
            chunk = self.ner.tokenizer.decode(ids[start : start + 450], skip_special_tokens=True)
            found.extend(self.ner(chunk))
        return found

    def vector(self, word: str) -> Any:
        encoded = self.align_tokenizer(word, truncation=True, max_length=30, return_tensors="pt")
        with torch.no_grad():
            return self.align_model(**encoded).last_hidden_state[0, 0]

    def entity_f1(self, reference: list[dict[str, Any]], candidate: list[dict[str, Any]]) -> float:
        sure = [[e["word"] for e in side if e["score"] > 0.7] for side in (reference, candidate)]
        if not sure[0] or not sure[1]:
            self.empty_sides += 1
            return 0.0
        left, right = ([self.vector(word) for word in side] for side in sure)
        cosine = torch.nn.functional.cosine_similarity
        recall = sum(max(float(cosine(a, b, dim=0)) for b in right) for a in left) / len(left)
        precision = sum(max(float(cosine(a, b, dim=0)) for a in left) for b in right) / len(right)
        total = precision + recall
        return 2 * precision * recall / total if total != 0 else 0.0

    def relations(self, text: str, found: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
        kept = set()
        for i, head in enumerate(found):
            for j, tail in enumerate(found):
                if i == j:
                    continue
                self.tail_first += tail["start"] < head["start"]
                marked = text[: head["start"]] + "[E1]" + text[head["start"] : head["end"]]
                marked += "[/E1]" + text[head["end"] : tail["start"]] + "[E2]"
                marked += text[tail["start"] : tail["end"]] + "[/E2]" + text[tail["end"] :]
                encoded = self.relation_tokenizer(
                    marked,
                    max_length=512,
                    truncation=True,
                    padding="max_length",
                    return_tensors="pt",
                )
                with torch.no_grad():
                    probabilities = self.relation_model(**encoded).logits.softmax(dim=-1)[0]
                label = int(probabilities.argmax())
                if float(probabilities[label]) > 0.7 and label == 1:
                    kept.add((head["word"], tail["word"], "Relation"))
        return kept

    def score(self, reference: str, candidate: str) -> tuple[float, float, float]:
        left, right = self.entities(reference), self.entities(candidate)
        entity = self.entity_f1(left, right)
        gold, ours = self.relations(reference, left), self.relations(candidate, right)
        precision = len(gold & ours) / (len(ours) + 1e-9)
        recall = len(gold & ours) / (len(gold) + 1e-9)
        total = precision + recall
        relation = 2 * precision * recall / total if total else 0.0
        return entity, relation, 0.5 * entity + 0.5 * relation


def quiet_text(published: Published) -> str:
    """Over 450 tokens in which the random tagger finds little, so that passes stay few."""
    texts = (f"{word} " * 455 for word in sorted(set(WORDS)))
    return next(text for text in texts if len(published.entities(text)) < 8)


def generated_pairs(filler: str) -> list[Pair]:
    """Fifty-odd pairs: short, alike, over 450 tokens, and with a side that says nothing."""
    source = random.Random(7)
    pairs = []
    for number in range(50):
        reference = make_report(source, source.randint(2, 8))
        words = reference.split()
        source.shuffle(words)
        alike = " ".join(words[: source.randint(1, len(words))])
        candidate = alike if number % 2 else make_report(source, source.randint(2, 8))
        pairs.append(Pair(id=str(number), reference=reference, candidate=candidate))
    pairs.append(Pair(id="long", reference=f"{filler}{pairs[3].reference}", candidate="benign"))
    pairs.append(Pair(id="longer", reference="benign", candidate=f"{filler}{pairs[5].reference}"))
    pairs.append(Pair(id="nothing", reference=":", candidate=pairs[1].reference))
    pairs.append(Pair(id="punctuation", reference=pairs[1].reference, candidate="..."))
    return pairs


@pytest.mark.slow
def test_upstream_mode_equals_the_published_arithmetic(tiny_models: ModelFolders) -> None:
    published = Published(tiny_models)
    pairs = generated_pairs(quiet_text(published))
    metric = create(
        "hare:mode=upstream",
        {
            "reader": HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=CPU),
            "aligner": HuggingFaceEncoder(tiny_models.aligner, runtime=CPU),
        },
    )
    for pair, ours in zip(pairs, metric.score(pairs), strict=True):
        assert isinstance(ours, Score), ours
        entity, relation, value = published.score(pair.reference, pair.candidate)
        assert ours.parts["entity_f1"] == pytest.approx(entity, abs=1e-5), pair.id
        assert ours.parts["relation_f1"] == pytest.approx(relation, abs=1e-5), pair.id
        assert ours.value == pytest.approx(value, abs=1e-5), pair.id
    assert published.tail_first > 100
    assert published.longest > 450
    assert published.empty_sides > 0


@pytest.mark.parametrize("tokenizer_says", [False, True])
def test_chunks_are_decoded_as_published_whatever_the_tokenizer_says(
    tiny_models: ModelFolders, tokenizer_says: bool
) -> None:
    """The library's default has changed since, and folders say one thing, the other or nothing."""
    text = "the patient's left breast shows carcinoma, the tumour's margins aren't positive."
    published = Published(tiny_models)
    published.ner.tokenizer.clean_up_tokenization_spaces = True
    reader = HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=CPU)
    reader.tagger.tokenizer.clean_up_tokenization_spaces = tokenizer_says
    (found,) = UpstreamReader(reader).read([text])
    expected = [(each["start"], each["end"]) for each in published.entities(text)]
    assert expected
    assert [(entity.start, entity.end) for entity in found.entities] == expected


class NoisyAligner:
    """An encoder on another processor: the eighth digit differs."""

    def __init__(self, aligner: HuggingFaceEncoder) -> None:
        self.identity = aligner.identity
        self._aligner = aligner
        self._noise = np.random.default_rng(0)

    def embed(self, phrases: list[str]) -> Any:
        vectors = self._aligner.embed(phrases).astype(np.float64)
        return vectors + self._noise.normal(scale=1e-8, size=vectors.shape)


def test_noise_of_the_arithmetic_does_not_split_ties(tiny_models: ModelFolders) -> None:
    source = random.Random(3)
    texts = [make_report(source, 12) for _ in range(8)]
    reader = HuggingFaceReader(tiny_models.entities, tiny_models.relations, runtime=CPU)
    aligner = NoisyAligner(HuggingFaceEncoder(tiny_models.aligner, runtime=CPU))
    metric = create("hare:mode=upstream", {"reader": reader, "aligner": aligner})
    scores = metric.score([Pair(id=text, reference=text, candidate=text) for text in texts])
    parts = [score.parts for score in scores if isinstance(score, Score)]
    assert [part["entity_f1"] for part in parts] == [1.0] * len(texts)
    assert {score.value for score in scores if isinstance(score, Score)} <= {0.5, 1.0}
