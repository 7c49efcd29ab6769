"""What chrF says of itself and of texts whose score can be told by hand."""

from __future__ import annotations

import pickle
import random
import time

import pytest
import sacrebleu

from histoeval import SettingError
from histoeval.metrics.bleu import Chrf, mean_shares
from histoeval.metrics.registry import create


def test_a_text_scores_a_hundred_against_itself_however_it_is_spaced() -> None:
    assert Chrf(name="chrf").score_pair("benign gland", "be nign\n gland").value == pytest.approx(
        100
    )


def test_precision_and_recall_can_be_counted_by_hand() -> None:
    # letters: 3 of 4 and 3 of 3; pairs of letters: 2 of 3 and 2 of 2
    score = Chrf(name="chrf", char_order=2).score_pair("abc", "abcd")
    assert score.counts == (4, 3, 3, 3, 2, 2)
    precision = (3 / 4 + 2 / 3) / 2
    assert score.parts == pytest.approx({"precision": precision, "recall": 1})
    assert score.value == pytest.approx(100 * 5 * precision / (4 * precision + 1))


@pytest.mark.parametrize(
    "sides", [("", ""), ("benign", ""), ("", "benign"), ("\n", " "), ("a", "b")]
)
def test_nothing_in_common_scores_zero(sides: tuple[str, str]) -> None:
    assert Chrf(name="chrf").score_pair(*sides).value == 0


def test_orders_that_one_side_has_no_ngrams_of_are_left_out() -> None:
    assert mean_shares([4, 2, 1, 3, 0, 0]) == (1 / 4, 1 / 2)
    assert mean_shares([]) == (0, 0)


def test_recall_weighs_more_the_larger_beta_is() -> None:
    short = [
        Chrf(name="chrf", beta=beta).score_pair("benign gland", "benign") for beta in (1, 2, 3)
    ]
    assert short[0].value > short[1].value > short[2].value


def test_the_corpus_value_is_not_the_mean() -> None:
    metric = Chrf(name="chrf")
    long = metric.score_pair("benign gland" * 9, "benign gland" * 9)
    short = metric.score_pair("tumor", "xyz")
    counts = [sum(column) for column in zip(long.counts, short.counts, strict=True)]
    assert metric.corpus_value(50, counts) > 90


def test_the_signature_pins_orders_beta_and_version() -> None:
    line = str(create("chrf:word_order=2").signature)
    assert line.startswith("chrf|char_order:6|word_order:2|beta:2|case:mixed|eff:yes|space:no|")
    assert f"|sacrebleu:{sacrebleu.__version__}|" in line


@pytest.mark.parametrize("spec", ["chrf:char_order=0", "chrf:word_order=-1", "chrf:beta=two"])
def test_a_setting_that_makes_no_sense_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=spec):
        create(spec)


def test_long_texts_are_counted_in_seconds() -> None:
    source = random.Random(5)
    reference, candidate = ("".join(source.choices("abcdefghij ", k=200_000)) for _ in "ab")
    start = time.process_time()
    assert 0 < Chrf(name="chrf").score_pair(reference, candidate).value < 100
    assert time.process_time() - start < 30


def test_it_travels_to_another_process_and_still_scores() -> None:
    metric = Chrf(name="chrf", word_order=2)
    score = metric.score_pair("benign gland", "benign glands")
    assert pickle.loads(pickle.dumps(metric)).score_pair("benign gland", "benign glands") == score
