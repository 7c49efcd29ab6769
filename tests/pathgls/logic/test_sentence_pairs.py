"""Sentences of short reports as they stand, in pairs for a model."""

from __future__ import annotations

from histoeval.errors import Problem
from histoeval.pathgls.logic.read_specimens import specimens_of
from histoeval.pathgls.logic.score import Top, logic_of
from histoeval.pathgls.logic.sentence_pairs import MAX_SENTENCE_PAIRS, sentence_pairs
from histoeval.pathgls.logic.statements import StatementPair
from tests.support.logic_reports import FixedEntailer, read

AT_ODDS = "Stroma is loose. The stroma is dense."
SIDES = "Left lung, biopsy. The adenocarcinoma of the right lung is acinar."


def pairs(text: str) -> list[StatementPair]:
    (specimen,) = specimens_of(read(text))[0]
    return sentence_pairs(specimen)


def test_sentences_count_as_a_pair_only_where_a_model_finds_them_at_odds() -> None:
    sure, unsure = (
        logic_of(read(AT_ODDS), FixedEntailer(p), top=Top(number=1)) for p in (0.99, 0.6)
    )
    assert not isinstance(sure, Problem)
    assert not isinstance(unsure, Problem)
    assert sure.value < 0.5 < unsure.value


def test_sentences_that_name_two_sides_need_less_to_be_at_odds() -> None:
    (pair,) = pairs(SIDES)
    assert pair.opposed


def test_sentences_on_nodes_are_not_compared_with_those_on_the_lesion() -> None:
    assert not pairs("The colon has an adenocarcinoma. The lymph nodes are free of tumour.")


def test_a_report_of_many_sentences_has_a_limited_number_of_pairs() -> None:
    text = " ".join(f"The tumour has {word} cells." for word in ("large", "small", "clear")) * 20
    assert len(pairs(text)) <= MAX_SENTENCE_PAIRS
