"""The NLI model that is shipped: its size, and what no model of its kind may get wrong."""

from importlib.resources import files
from pathlib import Path

import pytest

from histoeval.nli.builtin import BuiltinEntailer
from histoeval.nli.entailer import NliPair
from histoeval_research.evaluate.nli import evaluate_nli
from histoeval_research.train.nli.pairs import read_pairs
from tests.support.paths import DATA

HOME = Path(str(files("histoeval") / "models" / "nli"))
MOST_BYTES = 25_000_000

PLAIN = [
    ("No lymphovascular invasion is identified.", "There is lymphovascular invasion."),
    ("The surgical margins are free of tumour.", "Tumour is present at the surgical margins."),
    ("The tumour is in the left breast.", "The tumour is in the right breast."),
    ("ER is positive.", "The tumour cells are negative for ER."),
    ("Invasive ductal carcinoma of the breast.", "The biopsy is benign."),
]


def test_it_is_small_enough_to_be_shipped() -> None:
    assert sum(file.stat().st_size for file in HOME.iterdir()) < MOST_BYTES


@pytest.mark.parametrize(("premise", "hypothesis"), PLAIN)
def test_plain_contradictions_are_found_either_way(
    entailer: BuiltinEntailer, premise: str, hypothesis: str
) -> None:
    for found in entailer.judge([NliPair(premise, hypothesis), NliPair(hypothesis, premise)]):
        assert found.label == "contradiction"


@pytest.mark.parametrize("pair", PLAIN)
def test_a_sentence_entails_itself(entailer: BuiltinEntailer, pair: tuple[str, str]) -> None:
    for sentence in pair:
        (found,) = entailer.judge([NliPair(sentence, sentence)])
        assert found.label == "entailment"


def test_what_a_report_does_not_say_is_left_open(entailer: BuiltinEntailer) -> None:
    (found,) = entailer.judge(
        [NliPair("The margins are free of tumour.", "The patient is a smoker.")]
    )
    assert found.label == "neutral"


@pytest.mark.parametrize(
    ("file", "stride", "f1", "accuracy"),
    [
        ("nli_fresh.jsonl", 1, 0.89, 0.92),
        ("pathology_nli.jsonl", 5, 0.88, 0.87),
        ("pathology_nli_second.jsonl", 5, 0.81, 0.78),
        pytest.param("nli_dev.jsonl", 1, 0.92, 0.91, marks=pytest.mark.release),
        pytest.param("pathology_nli.jsonl", 1, 0.93, 0.91, marks=pytest.mark.release),
        pytest.param("pathology_nli_second.jsonl", 1, 0.88, 0.87, marks=pytest.mark.release),
    ],
)
def test_it_finds_most_contradictions_of_written_pairs_that_it_has_not_learned(
    entailer: BuiltinEntailer, file: str, stride: int, f1: float, accuracy: float
) -> None:
    """The two files named pathology_nli are blind: nothing was chosen by them."""
    found = evaluate_nli(entailer, read_pairs(DATA / file)[::stride]).whole
    assert found.f1 is not None
    assert found.f1 > f1
    assert found.accuracy > accuracy


def test_its_signature_says_that_terms_are_heard(entailer: BuiltinEntailer) -> None:
    assert entailer.identity.startswith("nli+terms@")
