"""Pairs from statements of true reports of which one thing was changed."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from histoeval.terms.naming import main_concept
from histoeval_research.train.nli.report_pairs import changed_pairs, stranger_pairs

pytestmark = pytest.mark.heavy

REPORTS = (
    (
        "Left breast, wide local excision.",
        "Invasive ductal carcinoma, 23 mm across.",
        "Lymphovascular invasion is not identified.",
    ),
    ("Colon, polypectomy.", "Tubular adenoma of 6 mm.", "No high-grade dysplasia."),
)
SOURCES = (REPORTS[:1], REPORTS[1:])


def test_a_statement_with_something_changed_contradicts_and_one_renamed_is_entailed() -> None:
    pairs = list(changed_pairs(SOURCES, 300, seed=1))
    assert len(pairs) == 300
    for pair in pairs:
        if pair.category == "changed: nothing":
            assert pair.label == "entailment"
        if pair.category in {"changed: number", "changed: side", "changed: pole"}:
            assert pair.label == "contradiction"
            assert pair.hypothesis not in pair.premise
    diagnoses = [pair for pair in pairs if pair.category == "changed: diagnosis"]
    assert {pair.label for pair in diagnoses} == {"entailment", "contradiction"}


def test_another_name_of_a_diagnosis_is_of_the_same_diagnosis() -> None:
    (report,) = SOURCES[1]
    renamed = [
        pair
        for pair in changed_pairs((((report[1],),),), 60, seed=2)
        if pair.category == "changed: diagnosis"
    ]
    adenoma = main_concept("tubular adenoma")
    for pair in renamed:
        same = main_concept(pair.hypothesis) == adenoma
        assert same == (pair.label == "entailment"), pair.hypothesis


def test_a_stranger_is_a_statement_of_another_report() -> None:
    for pair in stranger_pairs(SOURCES, 40, seed=1):
        assert pair.hypothesis not in pair.premise


def test_the_same_seed_makes_the_same_pairs() -> None:
    assert list(changed_pairs(SOURCES, 20, 3)) == list(changed_pairs(SOURCES, 20, 3))
    assert list(changed_pairs(SOURCES, 20, 3)) != list(changed_pairs(SOURCES, 20, 4))
