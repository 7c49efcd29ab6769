"""Lexical metrics equal the libraries they stand for, called directly, to 1e-9."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import nltk.data
import pytest
import sacrebleu
from nltk.stem.api import StemmerI
from nltk.tokenize import wordpunct_tokenize
from nltk.translate.meteor_score import meteor_score
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from histoeval import Metric, Pair, Score
from histoeval.metrics import wordnet
from histoeval.metrics.registry import create
from tests.support import tiny_wordnet

VOCABULARY = (
    "invasive ductal carcinoma carcinomas in situ adenocarcinoma glands gland glandular tumor "
    "Tumour tumors neoplasm margin margins border firm solid hard biopsy biopsies shows shown "
    "display necrosis necrotic focal foci focus HER2 Ki-67 ER: positive, negative. (grade 2/3) "
    "3.5 cm 12mm 1,5 pT2. pN0; e.g. H. pylori <1% >=10 20-30% & &amp; &quot; <skipped> well- - … "
    "Läsion größe naïve ß İ µm 5\u00d73 ≥ \u2013 “benign” 腫瘍 良性 नमूना e\u0301 \u00a0 \u2028 🔬 "
    "of the a a a no"
)
EMPTY = ["", " \n\t", "...", "—", "腫瘍", "?!", "µ", "\u00a0"]
"""Sides in which some tokenisers find nothing."""


def make_pairs() -> list[Pair]:
    source = random.Random(20_25)
    words = VOCABULARY.split(" ")
    texts = []
    for _ in range(260):
        reference = source.choices(words, k=source.choice([1, 2, 3, 5, 8, 20, 40, 70]))
        kept = [word for word in reference if source.random() < 0.7]
        candidate = kept + source.choices(words, k=source.randint(0, 1 + len(reference) // 2))
        if source.random() < 0.3:
            source.shuffle(candidate)
        glue = source.choice([" ", "\n", " ", "-\n"])
        texts.append((glue.join(reference), glue.join(candidate)))
    texts += [(one, other) for one in EMPTY for other in [*EMPTY, "benign gland."]]
    texts += [("benign gland.", one) for one in EMPTY] + [("benign gland.", "benign gland.")]
    return [Pair(id=str(n), reference=r, candidate=c) for n, (r, c) in enumerate(texts)]


PAIRS = make_pairs()
REFERENCES = [pair.reference for pair in PAIRS]
CANDIDATES = [pair.candidate for pair in PAIRS]


def values(metric: Metric) -> tuple[list[float], float]:
    """Its value for each pair, and for the corpus."""
    scores = cast(list[Score], metric.score(PAIRS))
    found = [score.value for score in scores]
    counts = [sum(column) for column in zip(*(score.counts for score in scores), strict=True)]
    return found, metric.corpus_value(sum(found) / len(found), counts)


def assert_equal(spec: str, of_pair: Callable[[str, str], float], of_corpus: float | None) -> None:
    """Where the library knows no corpus value, it is the mean."""
    found, corpus = values(create(spec))
    expected = [of_pair(pair.reference, pair.candidate) for pair in PAIRS]
    assert found == pytest.approx(expected, abs=1e-9)
    mean = sum(expected) / len(expected)
    assert corpus == pytest.approx(mean if of_corpus is None else of_corpus, abs=1e-9)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_bleu_is_that_of_sacrebleu(order: int) -> None:
    of_pairs = BLEU(max_ngram_order=order, effective_order=True)
    of_corpus = BLEU(max_ngram_order=order).corpus_score(CANDIDATES, [REFERENCES]).score
    assert_equal(
        f"bleu_{order}",
        lambda reference, candidate: of_pairs.sentence_score(candidate, [reference]).score,
        of_corpus,
    )


def test_bleu_4_is_what_sacrebleu_gives_without_being_asked_for_anything() -> None:
    assert_equal(
        "bleu",
        lambda reference, candidate: sacrebleu.sentence_bleu(candidate, [reference]).score,
        sacrebleu.corpus_bleu(CANDIDATES, [REFERENCES]).score,
    )


def test_chrf_is_what_sacrebleu_gives_without_being_asked_for_anything() -> None:
    assert_equal(
        "chrf",
        lambda reference, candidate: sacrebleu.sentence_chrf(candidate, [reference]).score,
        sacrebleu.corpus_chrf(CANDIDATES, [REFERENCES]).score,
    )


@pytest.mark.parametrize(
    ("char_order", "word_order", "beta"), [(6, 2, 2), (6, 1, 1), (3, 4, 3), (9, 0, 1)]
)
def test_chrf_with_other_settings_is_that_of_sacrebleu(
    char_order: int, word_order: int, beta: int
) -> None:
    chrf = CHRF(char_order=char_order, word_order=word_order, beta=beta)
    assert_equal(
        f"chrf:char_order={char_order}:word_order={word_order}:beta={beta}",
        lambda reference, candidate: chrf.sentence_score(candidate, [reference]).score,
        chrf.corpus_score(CANDIDATES, [REFERENCES]).score,
    )


@pytest.mark.parametrize("kind", ["1", "2", "l"])
@pytest.mark.parametrize("stem", [False, True])
def test_rouge_is_that_of_rouge_score(kind: str, stem: bool) -> None:
    key = f"rouge{kind.upper()}"
    scorer = RougeScorer([key], use_stemmer=stem)
    expected = [scorer.score(pair.reference, pair.candidate)[key] for pair in PAIRS]
    scores = cast(list[Score], create(f"rouge_{kind}:stem={stem}").score(PAIRS))
    for ours, theirs in zip(scores, expected, strict=True):
        assert ours.value == pytest.approx(theirs.fmeasure, abs=1e-9)
        assert ours.parts["precision"] == pytest.approx(theirs.precision, abs=1e-9)
        assert ours.parts["recall"] == pytest.approx(theirs.recall, abs=1e-9)


class NoSynonyms:
    """A WordNet that knows no word, which leaves nltk with its first two matchers."""

    def synsets(self, word: str) -> list[Any]:
        return []


class NoStemmer(StemmerI):  # type: ignore[misc]
    """A stemmer that leaves nltk with its first matcher."""

    def stem(self, token: str) -> str:
        return token


def by_nltk(**settings: Any) -> Callable[[str, str], float]:
    def of_pair(reference: str, candidate: str) -> float:
        references = [wordpunct_tokenize(reference)]
        return float(meteor_score(references, wordpunct_tokenize(candidate), **settings))

    return of_pair


def test_meteor_without_synonyms_is_that_of_nltk() -> None:
    assert_equal("meteor:matchers=exact+stem", by_nltk(wordnet=NoSynonyms()), None)


def test_meteor_of_exact_words_is_that_of_nltk() -> None:
    expected = by_nltk(wordnet=NoSynonyms(), stemmer=NoStemmer())
    assert_equal("meteor:matchers=exact", expected, None)


def test_meteor_with_a_small_wordnet_is_that_of_nltk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tiny_wordnet.write(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    with tiny_wordnet.read_by_nltk(folder) as theirs:
        assert_equal("meteor", by_nltk(wordnet=theirs), None)


def test_meteor_with_the_wordnet_of_this_machine_is_that_of_nltk() -> None:
    place = wordnet.find()
    if place is None:
        pytest.skip("there is no WordNet on this machine")
    assert_equal("meteor", by_nltk(wordnet=wordnet.load(place)), None)
