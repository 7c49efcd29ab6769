"""What BLEU, chrF and ROUGE say of themselves and of texts whose score can be told by hand."""

import pickle
import random
import time

import pytest
import sacrebleu
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from histoeval import Score, SettingError
from histoeval.metrics import bleu
from histoeval.metrics.base import PairMetric
from histoeval.metrics.bleu import mean_shares, tokenize
from histoeval.metrics.registry import create
from histoeval.metrics.rouge import subsequence_shares


def metric_of(spec: str) -> PairMetric:
    metric = create(spec)
    assert isinstance(metric, PairMetric)
    return metric


def scored(spec: str, reference: str, candidate: str) -> Score:
    return metric_of(spec).score_pair(reference, candidate)


def together(spec: str, *pairs: tuple[str, str]) -> float:
    """The corpus value of some pairs."""
    scores = [scored(spec, *pair) for pair in pairs]
    counts = [sum(column) for column in zip(*(score.counts for score in scores), strict=True)]
    return metric_of(spec).corpus_value(sum(score.value for score in scores) / len(scores), counts)


@pytest.mark.parametrize(
    ("spec", "reference", "candidate", "value", "parts", "counts"),
    [
        ("bleu", "Carcinoma, grade 2.", "Carcinoma, grade 2.", 100, {}, None),
        ("bleu_1", "a benign b c", "x benign y z", 25, {"brevity_penalty": 1}, (1, 4, 4, 4)),
        ("bleu_1", "a b c d", "a b", 36.787944117144233, {"brevity_penalty": 0.36787944}, None),
        ("chrf", "benign gland", "be nign\n gland", 100, {}, None),
        # letters: 3 of 4 and 3 of 3; pairs of letters: 2 of 3 and 2 of 2
        (
            "chrf:char_order=2",
            "abc",
            "abcd",
            100 * 5 * (17 / 24) / (4 * (17 / 24) + 1),
            {"precision": 17 / 24, "recall": 1},
            (4, 3, 3, 3, 2, 2),
        ),
        ("rouge_1", "no tumor in kidney", "in kidney: NO", 6 / 7, {"recall": 3 / 4}, ()),
        ("rouge_2", "no tumor in kidney", "in kidney: NO", 2 / 5, {"precision": 1 / 2}, ()),
        ("rouge_l", "no tumor in kidney", "in kidney: NO", 4 / 7, {"recall": 2 / 4}, ()),
        ("rouge_1", "glands", "gland", 0, {}, None),
        ("rouge_1:stem=true", "glands", "gland", 1, {}, None),
    ],
)
def test_scores_can_be_counted_by_hand(
    spec: str,
    reference: str,
    candidate: str,
    value: float,
    parts: dict[str, float],
    counts: tuple[float, ...] | None,
) -> None:
    score = scored(spec, reference, candidate)
    assert score.value == pytest.approx(value)
    assert {name: score.parts[name] for name in parts} == pytest.approx(parts)
    assert counts is None or score.counts == counts


@pytest.mark.parametrize(
    "sides",
    [("", ""), ("benign", ""), ("", "benign"), ("\n", " "), ("a", "b"), ("?!", "benign gland")],
)
@pytest.mark.parametrize("spec", ["bleu", "chrf", "rouge_1", "rouge_2", "rouge_l"])
def test_nothing_in_common_scores_zero(spec: str, sides: tuple[str, str]) -> None:
    assert scored(spec, *sides).value == 0


@pytest.mark.parametrize("kind", ["1", "2", "l"])
@pytest.mark.parametrize("sides", [("benign gland", "…"), ("腫瘍",) * 2])
def test_a_side_without_a_word_scores_zero(kind: str, sides: tuple[str, str]) -> None:
    score = scored(f"rouge_{kind}", *sides)
    assert (score.value, *score.parts.values()) == (0, 0, 0)


def test_orders_that_one_side_has_no_ngrams_of_are_left_out() -> None:
    assert mean_shares([4, 2, 1, 3, 0, 0]) == (1 / 4, 1 / 2)
    assert mean_shares([]) == (0, 0)


def test_recall_weighs_more_the_larger_beta_is() -> None:
    first, second, third = (
        scored(f"chrf:beta={beta}", "benign gland", "benign").value for beta in (1, 2, 3)
    )
    assert first > second > third


def test_a_corpus_is_counted_as_one_text_and_by_rouge_as_the_mean() -> None:
    assert together("bleu_1", ("a b c d e f g h",) * 2, ("a b", "x y")) == pytest.approx(80)
    assert together("chrf", ("benign gland" * 9,) * 2, ("tumor", "xyz")) > 90
    assert together("rouge_l", ("a b", "a b"), ("a b", "x y")) == 0.5


def longest_common_subsequence(one: list[str], other: list[str]) -> int:
    """By the book, for lists short enough."""
    if not one or not other:
        return 0
    if one[-1] == other[-1]:
        return 1 + longest_common_subsequence(one[:-1], other[:-1])
    return max(
        longest_common_subsequence(one[:-1], other), longest_common_subsequence(one, other[:-1])
    )


WORDS = st.lists(st.sampled_from(["benign", "gland", "of", "a", "the"]), max_size=7)


@settings(deadline=None)
@given(reference=WORDS, candidate=WORDS)
def test_the_subsequence_is_the_longest(reference: list[str], candidate: list[str]) -> None:
    length = longest_common_subsequence(reference, candidate)
    precision, recall, _ = subsequence_shares(reference, candidate)
    assert precision * len(candidate) == pytest.approx(length)
    assert recall * len(reference) == pytest.approx(length)


def test_signatures_pin_settings_and_versions() -> None:
    version = f"|sacrebleu:{sacrebleu.__version__}|histoeval:"
    of_bleu, of_chrf = str(create("bleu_2").signature), str(create("chrf:word_order=2").signature)
    assert of_bleu.startswith(f"bleu_2|order:2|tok:13a|smooth:exp{version}")
    pinned = "chrf|char_order:6|word_order:2|beta:2|case:mixed|eff:yes|space:no"
    assert of_chrf.startswith(f"{pinned}{version}")
    plain, stemmed = create("rouge_l").signature, create("rouge_l:stem=true").signature
    assert (plain.settings["stem"], stemmed.settings["stem"]) == ("False", "True")
    assert ("nltk" in plain.settings, "nltk" in stemmed.settings) == (False, True)
    assert "rouge_score" in plain.settings


@pytest.mark.parametrize(
    "spec",
    [
        *("bleu:order=0", "bleu:order=ten", "bleu:tokenize=none"),
        *("chrf:char_order=0", "chrf:word_order=-1", "chrf:beta=two"),
        *("rouge_1:kind=3", "rouge_l:stem=perhaps", "rouge_l:stemmer=true"),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=spec):
        create(spec)


def test_texts_leave_nothing_in_the_memory_of_sacrebleu() -> None:
    Tokenizer13a.__call__.cache_clear()
    scored("bleu", "benign gland", "benign glands")
    assert Tokenizer13a.__call__.cache_info().currsize == 0


def test_long_texts_are_tokenised_as_short_ones_are_and_not_kept() -> None:
    source = random.Random(1)
    text = "".join(source.choices("ab1,.-<&;\n ", k=bleu.MAX_CACHED_CHARS + 1)) + "x"
    kept = bleu._cached_tokens.cache_info().currsize
    assert tokenize(text) == Tokenizer13a.__call__.__wrapped__(Tokenizer13a(), text)  # type: ignore[no-untyped-call]
    assert bleu._cached_tokens.cache_info().currsize == kept


@pytest.mark.parametrize(
    ("spec", "pieces", "glue", "length"),
    [
        ("chrf", list("abcdefghij "), "", 200_000),
        ("rouge_l", [f"word{number}" for number in range(500)], " ", 100_000),
    ],
)
def test_long_reports_take_seconds(spec: str, pieces: list[str], glue: str, length: int) -> None:
    source = random.Random(5)
    reference, candidate = (glue.join(source.choices(pieces, k=length)) for _ in "ab")
    start = time.process_time()
    assert 0 < scored(spec, reference, candidate).value < 100
    assert time.process_time() - start < 30


@pytest.mark.parametrize(
    "spec", ["bleu", "chrf:word_order=2", "rouge_1:stem=true", "rouge_l:stem=true"]
)
def test_it_travels_to_another_process_and_still_scores(spec: str) -> None:
    metric = metric_of(spec)
    pair = "benign glands", "benign gland"
    assert pickle.loads(pickle.dumps(metric)).score_pair(*pair) == metric.score_pair(*pair)
