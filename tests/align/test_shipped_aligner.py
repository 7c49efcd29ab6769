"""The aligner as it is shipped: small, whole, the default, and it tells near misses apart."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from histoeval.align.aligner import LexicalAligner
from histoeval.align.builtin import BuiltinAligner
from histoeval.run.models import Models, load_aligner
from histoeval_research.evaluate.aligner import evaluate_opposites, read_opposites
from tests.support.paths import DATA
from tests.support.shipped_models import shipped_aligner

HOME = Path(str(files("histoeval") / "models" / "aligner"))


def alike(one: str, other: str) -> float:
    first, second = shipped_aligner().embed([one, other])
    return float(first @ second)


def test_it_fits_into_25_megabytes_with_its_card_and_figures() -> None:
    assert sum(file.stat().st_size for file in HOME.iterdir()) < 25_000_000
    results = json.loads((HOME / "results.json").read_text("utf-8"))
    card = (HOME / "README.md").read_text("utf-8")
    assert f"{results['scores']['retrieval']['preferred names']['first']['value']:.3f}" in card
    assert f"{results['scores']['opposites']['all']['of_phrase']:.3f}" in card


def test_it_is_used_where_no_other_is_named(aligner: BuiltinAligner) -> None:
    for named in (None, "builtin"):
        assert load_aligner(Models(aligner=named)).identity == aligner.identity
    assert isinstance(load_aligner(Models(aligner="lexical")), LexicalAligner)


@pytest.mark.parametrize(
    ("phrase", "synonym", "opposite"),
    [
        ("invasive ductal carcinoma", "IDC", "invasive lobular carcinoma"),
        ("estrogen receptor", "ER", "progesterone receptor"),
        ("renal cell carcinoma", "RCC", "renal oncocytoma"),
        ("lymphovascular invasion", "LVI", "perineural invasion"),
        ("low-grade tumour", "tumor of low grade", "high-grade tumour"),
        ("benign neoplasm", "non-malignant tumor", "malignant neoplasm"),
        ("carcinoma in situ", "noninvasive carcinoma", "invasive carcinoma"),
        ("left kidney", "kidney, left", "right kidney"),
        ("synaptophysin positive", "synaptophysin expressed", "synaptophysin negative"),
    ],
)
def test_a_synonym_is_nearer_than_what_means_something_else(
    phrase: str, synonym: str, opposite: str
) -> None:
    assert alike(phrase, opposite) < alike(phrase, synonym)


def test_it_tells_opposites_apart_as_often_as_its_card_says(aligner: BuiltinAligner) -> None:
    scores = json.loads((HOME / "results.json").read_text("utf-8"))["scores"]["opposites"]["all"]
    found = evaluate_opposites(read_opposites(DATA / "opposites.jsonl")[::11], aligner.embed)
    assert found["all"].of_phrase == pytest.approx(scores["of_phrase"], abs=0.1)


@pytest.mark.parametrize(
    ("stride", "of_phrase", "of_either"),
    [(5, 0.90, 0.88), pytest.param(1, 0.93, 0.92, marks=pytest.mark.release)],
)
def test_it_tells_opposites_apart_that_nobody_had_seen_when_it_was_made(
    aligner: BuiltinAligner, stride: int, of_phrase: float, of_either: float
) -> None:
    """480 rows; docs/aligner.md has the scores, and it may not do much worse than they say."""
    rows = read_opposites(DATA / "opposites_blind.jsonl")
    assert len(rows) == 480
    found = evaluate_opposites(rows[::stride], aligner.embed)["all"]
    assert found.of_phrase >= of_phrase
    assert found.of_either >= of_either
