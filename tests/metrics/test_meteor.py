"""METEOR against nltk's own, with a small WordNet, and what it says without one."""

import pickle
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import nltk.data
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.corpus.reader.wordnet import WordNetCorpusReader
from nltk.tokenize import wordpunct_tokenize
from nltk.translate.meteor_score import meteor_score

from histoeval.errors import MissingDependency, Problem
from histoeval.metric import Score
from histoeval.metrics import wordnet
from histoeval.metrics.meteor import Meteor
from histoeval.metrics.registry import create
from histoeval.report import Pair
from tests.support import tiny_wordnet
from tests.support.tables import from_table

TEXTS = st.lists(st.sampled_from(tiny_wordnet.WORDS), max_size=25).map(" ".join)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An NLTK_DATA folder with the small WordNet in it."""
    folder = tmp_path_factory.mktemp("nltk_data")
    tiny_wordnet.write(folder / "corpora" / "wordnet")
    return folder


@pytest.fixture(scope="module")
def theirs(data: Path) -> Iterator[WordNetCorpusReader]:
    """The small WordNet by nltk's reader, all of it, which needs the folder in its data path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nltk.data, "path", [str(data)])
        with tiny_wordnet.read_by_nltk(data / "corpora" / "wordnet") as reader:
            yield reader


@pytest.fixture(scope="module")
def meteor(data: Path) -> Meteor:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLTK_DATA", str(data))
        metric = Meteor(name="meteor")
        assert metric.unavailable_reason() is None
    return metric


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without WordNet, and the folder that its NLTK_DATA names."""
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    monkeypatch.setattr(nltk.data, "path", [])
    monkeypatch.setattr(wordnet, "DEBIAN", tmp_path / "usr" / "share" / "wordnet")
    return tmp_path


def by_nltk(reference: str, candidate: str, **settings: Any) -> float:
    tokens = wordpunct_tokenize(reference), wordpunct_tokenize(candidate)
    return float(meteor_score([tokens[0]], tokens[1], **settings))


def test_300_long_pairs_score_as_in_nltk(meteor: Meteor, theirs: WordNetCorpusReader) -> None:
    source = random.Random(7)
    for _ in range(300):
        reference = " ".join(source.choices(tiny_wordnet.WORDS, k=source.randint(1, 120)))
        candidate = " ".join(source.choices(tiny_wordnet.WORDS, k=source.randint(1, 120)))
        ours = meteor.score_pair(reference, candidate).value
        assert ours == pytest.approx(by_nltk(reference, candidate, wordnet=theirs), abs=1e-9)


@settings(deadline=None)
@given(
    reference=TEXTS,
    candidate=TEXTS,
    alpha=st.floats(0, 1),
    beta=st.floats(0, 5),
    gamma=st.floats(0, 1),
)
def test_weights_mean_what_they_mean_in_nltk(
    reference: str, candidate: str, alpha: float, beta: float, gamma: float,
    theirs: WordNetCorpusReader, data: Path,
) -> None:  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NLTK_DATA", str(data))
        metric = Meteor(name="meteor", alpha=alpha, beta=beta, gamma=gamma)
        ours = metric.score_pair(reference, candidate).value
    weights = {"alpha": alpha, "beta": beta, "gamma": gamma}
    expected = by_nltk(reference, candidate, wordnet=theirs, **weights)
    assert ours == pytest.approx(expected, abs=1e-9)


@from_table
def test_each_matcher_finds_what_it_is_named_after(
    matchers: Literal["exact", "exact+stem", "exact+stem+synonym"],
    candidate: str,
    matches: int,
    nowhere: Path,
) -> None:
    if "synonym" in matchers:
        tiny_wordnet.write(nowhere / "corpora" / "wordnet")
    metric = Meteor(name="meteor", matchers=matchers)
    assert metric.score_pair("tumor display", candidate).parts["matches"] == matches


def test_the_parts_explain_the_value(meteor: Meteor) -> None:
    score = meteor.score_pair("firm tumor of the kidney", "kidney with a firm tumor")
    assert score.parts == {
        "precision": 3 / 5,
        "recall": 3 / 5,
        "penalty": 0.5 * (2 / 3) ** 3,
        "chunks": 2,
        "matches": 3,
    }
    assert score.value == pytest.approx(0.6 * (1 - 0.5 * (2 / 3) ** 3))


@pytest.mark.parametrize(
    "sides", [("tumor", ""), ("", "tumor"), ("", ""), ("  \n", "."), ("a", "b")]
)
def test_nothing_in_common_scores_zero(sides: tuple[str, str], meteor: Meteor) -> None:
    score = meteor.score_pair(*sides)
    assert score.value == 0
    assert set(score.parts.values()) == {0}


def test_without_wordnet_it_says_where_it_looked_and_what_to_do(nowhere: Path) -> None:
    obstacle = Meteor(name="meteor").unavailable_reason()
    assert obstacle is not None
    for said in ("NLTK_DATA", "/usr/share/wordnet", "apt install wordnet-base", "nltk.downloader"):
        assert said in obstacle
    assert "meteor:matchers=exact+stem" in obstacle


def test_without_wordnet_it_never_runs_with_fewer_matchers(nowhere: Path) -> None:
    metric = Meteor(name="meteor")
    with pytest.raises(MissingDependency, match="wordnet-base"):
        metric.score_pair("tumor", "tumor")
    answers = metric.score([Pair(id="1", reference="tumor", candidate="tumor")])
    assert [type(answer) for answer in answers] == [Problem]
    assert metric.signature.settings["wordnet"] == "missing"


def test_what_the_obstacle_advises_works(nowhere: Path) -> None:
    metric = create("meteor:matchers=exact+stem")
    assert metric.unavailable_reason() is None
    answer = metric.score([Pair(id="1", reference="tumors", candidate="tumor")])[0]
    assert isinstance(answer, Score)
    assert answer.value == 0.5
    assert "wordnet" not in metric.signature.settings


def test_the_signature_names_matchers_weights_and_which_wordnet(meteor: Meteor) -> None:
    line = str(meteor.signature)
    for said in ("matchers:exact+stem+synonym", "alpha:0.9", "beta:3.0", "gamma:0.5"):
        assert f"|{said}|" in line
    assert f"|tok:wordpunct|nltk:{nltk.__version__}|wordnet:9.9-" in line


def test_it_travels_to_another_process_and_still_scores(meteor: Meteor) -> None:
    pair = "tumor of kidney", "neoplasm of kidney"
    assert pickle.loads(pickle.dumps(meteor)).score_pair(*pair) == meteor.score_pair(*pair)


def test_threads_read_the_same_synonyms(data: Path, theirs: WordNetCorpusReader) -> None:
    place = data / "corpora" / "wordnet"
    words = [word.lower() for word in tiny_wordnet.WORDS] * 20
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda word: wordnet._looked_up(place, word), words))
    for word, synonyms in zip(words, found, strict=True):
        lemmas = {name for synset in theirs.synsets(word) for name in synset.lemma_names()}
        assert synonyms == {name for name in lemmas if "_" not in name} | {word}


def test_a_megabyte_is_matched_in_seconds(meteor: Meteor) -> None:
    source = random.Random(3)
    reference, candidate = (" ".join(source.choices(tiny_wordnet.WORDS, k=180_000)) for _ in "ab")
    assert len(reference) > 1_000_000
    start = time.perf_counter()
    assert 0 < meteor.score_pair(reference, candidate).value < 1
    assert time.perf_counter() - start < 30
