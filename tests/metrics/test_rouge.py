"""What ROUGE says of itself and of texts whose score can be told by hand."""

from __future__ import annotations

import pickle
import random
import time
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval import SettingError
from histoeval.metrics.registry import create
from histoeval.metrics.rouge import Rouge, subsequence_shares

Kind = Literal["1", "2", "l"]
WORDS = st.lists(st.sampled_from(["benign", "gland", "of", "a", "the"]), max_size=12)


@pytest.mark.parametrize(
    ("kind", "precision", "recall"), [("1", 3 / 3, 3 / 4), ("2", 1 / 2, 1 / 3), ("l", 2 / 3, 2 / 4)]
)
def test_precision_and_recall_can_be_counted_by_hand(
    kind: Kind, precision: float, recall: float
) -> None:
    score = Rouge(name="rouge", kind=kind).score_pair("no tumor in kidney", "in kidney: NO")
    assert score.parts == pytest.approx({"precision": precision, "recall": recall})
    assert score.value == pytest.approx(2 * precision * recall / (precision + recall))


@pytest.mark.parametrize("kind", ["1", "2", "l"])
@pytest.mark.parametrize(
    "sides", [("?!", "benign gland"), ("benign gland", "…"), ("", ""), ("腫瘍",) * 2]
)
def test_a_side_without_a_word_scores_zero(kind: Kind, sides: tuple[str, str]) -> None:
    score = Rouge(name="rouge", kind=kind).score_pair(*sides)
    assert (score.value, *score.parts.values()) == (0, 0, 0)


def test_stems_match_only_when_asked_for() -> None:
    pair = "glands", "gland"
    assert Rouge(name="rouge_1", kind="1").score_pair(*pair).value == 0
    assert Rouge(name="rouge_1", kind="1", stem=True).score_pair(*pair).value == 1


def longest_common_subsequence(one: list[str], other: list[str]) -> int:
    """By the book, for lists short enough."""
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return 1 + longest_common_subsequence(one[:-1], other[:-1])
    return max(
        longest_common_subsequence(one[:-1], other), longest_common_subsequence(one, other[:-1])
    )


@settings(deadline=None)
@given(reference=WORDS.map(lambda words: words[:7]), candidate=WORDS)
def test_the_subsequence_is_the_longest(reference: list[str], candidate: list[str]) -> None:
    length = longest_common_subsequence(reference, candidate[:7])
    precision, recall, _ = subsequence_shares(reference, candidate[:7])
    assert precision * len(candidate[:7]) == pytest.approx(length)
    assert recall * len(reference) == pytest.approx(length)


def test_the_corpus_value_is_the_mean() -> None:
    metric = Rouge(name="rouge_l", kind="l")
    assert metric.score_pair("a b", "a b").counts == ()
    assert metric.corpus_value(0.25, ()) == 0.25


def test_the_signature_says_whether_words_were_stemmed_and_by_what() -> None:
    plain, stemmed = create("rouge_l").signature, create("rouge_l:stem=true").signature
    assert plain.settings["stem"] == "False"
    assert stemmed.settings["stem"] == "True"
    assert "nltk" not in plain.settings
    assert "nltk" in stemmed.settings
    assert "rouge_score" in plain.settings


@pytest.mark.parametrize("spec", ["rouge_1:kind=3", "rouge_l:stem=perhaps", "rouge_l:stemmer=true"])
def test_a_setting_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=spec):
        create(spec)


def test_reports_of_a_hundred_thousand_words_need_no_table_of_all_pairs() -> None:
    source = random.Random(5)
    words = [f"word{n}" for n in range(500)]
    reference, candidate = (" ".join(source.choices(words, k=100_000)) for _ in "ab")
    start = time.perf_counter()
    assert 0 < Rouge(name="rouge_l", kind="l").score_pair(reference, candidate).value < 1
    assert time.perf_counter() - start < 30


def test_it_travels_to_another_process_and_still_scores() -> None:
    for kind in ("1", "l"):
        metric = create(f"rouge_{kind}:stem=true")
        assert isinstance(metric, Rouge)
        score = metric.score_pair("benign glands", "benign gland")
        assert (
            pickle.loads(pickle.dumps(metric)).score_pair("benign glands", "benign gland") == score
        )
