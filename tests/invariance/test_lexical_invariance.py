"""Lexical scores do not depend on the order of the pairs or on how they are grouped."""

from __future__ import annotations

import random
from pathlib import Path
from typing import cast

import pytest

from histoeval import Metric, Pair, Score
from histoeval.metrics.registry import create
from tests.support import tiny_wordnet

SPECS = [
    *("bleu", "bleu_1", "bleu_2", "bleu_3", "bleu_4", "chrf", "chrf:word_order=2"),
    *("rouge_1", "rouge_2", "rouge_l", "rouge_l:stem=true"),
    *("meteor", "meteor:matchers=exact+stem", "meteor:matchers=exact"),
]


def make_pairs() -> list[Pair]:
    source = random.Random(11)
    sides = [
        [" ".join(source.choices(tiny_wordnet.WORDS, k=source.randint(1, 60))) for _ in range(40)]
        for _ in range(2)
    ]
    return [
        Pair(id=str(n), reference=reference, candidate=candidate)
        for n, (reference, candidate) in enumerate(zip(*sides, strict=True))
    ]


PAIRS = make_pairs()


@pytest.fixture(params=SPECS)
def metric(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Metric:
    tiny_wordnet.write(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    made = create(request.param)
    assert made.unavailable_reason() is None
    return made


def scores_by_id(metric: Metric, pairs: list[Pair], batch: int) -> dict[str, Score]:
    """All scores, taken so many pairs at a time."""
    answers = []
    for start in range(0, len(pairs), batch):
        answers += cast(list[Score], metric.score(pairs[start : start + batch]))
    return {pair.id: score for pair, score in zip(pairs, answers, strict=True)}


def corpus_value(metric: Metric, scores: list[Score]) -> float:
    counts = [sum(column) for column in zip(*(score.counts for score in scores), strict=True)]
    return metric.corpus_value(0.5, counts)


@pytest.mark.parametrize("batch", [1, 7, 64])
def test_a_pair_scores_the_same_in_any_company(metric: Metric, batch: int) -> None:
    expected = scores_by_id(metric, PAIRS, len(PAIRS))
    shuffled = random.Random(batch).sample(PAIRS, len(PAIRS))
    assert scores_by_id(metric, shuffled, batch) == expected
    fresh = create(metric.name)
    assert scores_by_id(fresh, shuffled[::-1], batch) == expected


def test_the_corpus_value_is_the_same_in_any_order(metric: Metric) -> None:
    scores = list(scores_by_id(metric, PAIRS, 8).values())
    expected = corpus_value(metric, scores)
    for seed in range(5):
        shuffled = random.Random(seed).sample(scores, len(scores))
        assert corpus_value(metric, shuffled) == expected
