"""What BLEU says of itself and of texts whose score can be told by hand."""

from __future__ import annotations

import pickle
import random

import pytest
import sacrebleu
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from histoeval import SettingError
from histoeval.metrics import bleu
from histoeval.metrics.bleu import Bleu, tokenize
from histoeval.metrics.registry import create


def test_a_text_scores_a_hundred_against_itself() -> None:
    text = "Invasive ductal carcinoma, grade 2."
    assert Bleu(name="bleu").score_pair(text, text).value == pytest.approx(100)


def test_one_word_in_four_is_a_quarter_of_the_single_words() -> None:
    score = Bleu(name="bleu_1", order=1).score_pair("a benign b c", "x benign y z")
    assert score.value == pytest.approx(25)
    assert score.parts == {"precision_1": 25, "brevity_penalty": 1}
    assert score.counts == (1, 4, 4, 4)


def test_a_candidate_half_as_long_pays_the_brevity_penalty() -> None:
    score = Bleu(name="bleu_1", order=1).score_pair("a b c d", "a b")
    assert score.parts["brevity_penalty"] == pytest.approx(0.36787944117144233)
    assert score.value == pytest.approx(36.787944117144233)


@pytest.mark.parametrize("sides", [("", ""), ("benign", ""), ("", "benign"), ("a", "b")])
def test_nothing_in_common_scores_zero(sides: tuple[str, str]) -> None:
    assert Bleu(name="bleu").score_pair(*sides).value == 0


def test_the_corpus_is_counted_as_one_text() -> None:
    metric = Bleu(name="bleu_1", order=1)
    long = metric.score_pair("a b c d e f g h", "a b c d e f g h")
    short = metric.score_pair("a b", "x y")
    counts = [sum(column) for column in zip(long.counts, short.counts, strict=True)]
    assert metric.corpus_value((long.value + short.value) / 2, counts) == pytest.approx(80)


def test_the_signature_pins_tokens_smoothing_and_version() -> None:
    line = str(create("bleu_2").signature)
    version = f"sacrebleu:{sacrebleu.__version__}"
    assert line.startswith(f"bleu_2|order:2|tok:13a|smooth:exp|{version}|histoeval:")


@pytest.mark.parametrize("spec", ["bleu:order=0", "bleu:order=ten", "bleu:tokenize=none"])
def test_a_setting_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=spec):
        create(spec)


def test_texts_leave_nothing_in_the_memory_of_sacrebleu() -> None:
    Tokenizer13a.__call__.cache_clear()
    Bleu(name="bleu").score_pair("benign gland", "benign glands")
    assert Tokenizer13a.__call__.cache_info().currsize == 0


def test_long_texts_are_tokenised_as_short_ones_are_and_not_kept() -> None:
    source = random.Random(1)
    text = "".join(source.choices("ab1,.-<&;\n ", k=bleu.MAX_CACHED_CHARS + 1)) + "x"
    kept = bleu._cached_tokens.cache_info().currsize
    assert tokenize(text) == Tokenizer13a.__call__.__wrapped__(Tokenizer13a(), text)  # type: ignore[no-untyped-call]
    assert bleu._cached_tokens.cache_info().currsize == kept


def test_it_travels_to_another_process_and_still_scores() -> None:
    metric = Bleu(name="bleu")
    score = metric.score_pair("benign gland", "benign glands")
    assert pickle.loads(pickle.dumps(metric)).score_pair("benign gland", "benign glands") == score
