"""The statements of a report, and the pairs of them that are compared."""

import pytest

from histoeval.errors import Problem
from histoeval.pathgls.logic.places import are_marked_apart, are_of_two_places
from histoeval.pathgls.logic.score import Top, logic_of
from histoeval.pathgls.logic.specimen import specimens_of
from histoeval.pathgls.logic.statements import (
    MAX_SENTENCE_PAIRS,
    Statement,
    StatementPair,
    pairs_of,
    sentence_pairs,
    statements_of,
)
from tests.support.logic_reports import FixedEntailer, cases, read

COLON = (
    "Malignant glands infiltrate the muscularis propria. Lymphovascular invasion is not "
    "identified. CDX2 is positive. The diagnosis is moderately differentiated adenocarcinoma of "
    "the sigmoid colon."
)


def stated(text: str) -> list[Statement]:
    return [each for specimen in specimens_of(read(text))[0] for each in statements_of(specimen)]


def held(text: str) -> list[StatementPair]:
    specimens = specimens_of(read(text))[0]
    return [pair for specimen in specimens for pair in pairs_of(statements_of(specimen))]


def test_the_graph_is_written_as_short_sentences_with_their_places() -> None:
    assert {each.text for each in stated(COLON)} >= {
        "The diagnosis is adenocarcinoma of the sigmoid colon.",
        "There is no lymphovascular invasion.",
        "CDX2 is positive.",
        "The tumour is moderately differentiated.",
    }
    for each in stated(COLON):
        assert COLON[each.span.start : each.span.end] == each.span.text
        assert each.passage.start <= each.span.start < each.span.end <= each.passage.end


def test_what_is_described_is_held_against_the_diagnosis() -> None:
    pairs = [(pair.first.text, pair.second.text) for pair in held(COLON)]
    diagnosis = "The diagnosis is adenocarcinoma of the sigmoid colon."
    assert ("Malignant glands infiltrate the muscularis propria.", diagnosis) in pairs


@pytest.mark.parametrize(
    ("text", "is_opposed"),
    [
        ("There is lymphovascular invasion. Lymphovascular invasion is not identified.", True),
        ("There is lymphovascular invasion. Foci of lymphovascular invasion are present.", False),
        ("There is no nuclear atypia. The diagnosis is squamous cell carcinoma of the skin.", True),
        ("There is nuclear pleomorphism. The diagnosis is squamous carcinoma of the skin.", False),
    ],
)
def test_statements_that_deny_each_other_are_opposed(text: str, is_opposed: bool) -> None:
    assert any(pair.opposed for pair in held(text)) is is_opposed


def test_a_finding_whose_own_words_deny_it_is_written_as_it_stands() -> None:
    texts = {each.text for each in stated("The excision has clear margins. Necrosis is absent.")}
    assert "There is no necrosis." in texts
    assert not any("no clear" in text for text in texts)


def test_statements_of_two_specimens_are_never_held_together() -> None:
    text = (
        "DIAGNOSIS:\nA. Colon, biopsy: Adenocarcinoma. ER is positive.\n"
        "B. Breast, biopsy: Fibroadenoma. ER is negative."
    )
    assert all(pair.first.passage.part == pair.second.passage.part for pair in held(text))


def test_uncertain_diagnoses_are_no_statements() -> None:
    text = "The features are suspicious for adenocarcinoma. Necrosis is present."
    assert not [each for each in stated(text) if each.role == "diagnosis"]


def test_no_statement_is_held_against_itself() -> None:
    for case in cases()[1::8]:
        for pair in held(case.true):
            assert pair.first.text.casefold() != pair.second.text.casefold()


def test_a_report_in_capitals_is_written_in_small_letters() -> None:
    texts = [each.text for each in stated("DIAGNOSIS: SQUAMOUS CELL CARCINOMA OF THE LUNG.")]
    assert any("squamous cell carcinoma" in text for text in texts)


# --- pairs of sentences as they stand -------------------------------------------------------------

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


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("The left ovary is cystic.", "The right ovary is solid.", True),
        ("At 3 o'clock: carcinoma.", "At 9 o'clock: fibroadenoma.", True),
        ("Caecum: tubular adenoma.", "Stomach: gastritis.", True),
        ("Caecum: tubular adenoma.", "Colon: no dysplasia.", False),
        ("The tumour is solid.", "The tumour of the left kidney is cystic.", False),
    ],
)
def test_sides_clocks_and_heads_tell_places_apart(one: str, other: str, apart: bool) -> None:
    assert are_marked_apart(one, other) is apart


def test_two_organs_are_two_places_though_nothing_marks_them() -> None:
    one, other = "The spleen is unremarkable.", "It is confined to the pancreas."
    assert are_of_two_places(one, other)
    assert not are_marked_apart(one, other)
