"""The statements of a report, and the pairs of them that are compared."""

from __future__ import annotations

from histoeval.pathgls.logic.read_specimens import specimens_of
from histoeval.pathgls.logic.statements import StatementPair, pairs_of, statements_of
from histoeval.pathgls.logic.verbalise import Statement
from tests.support.logic_reports import cases, read

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


def test_the_graph_is_written_as_short_sentences() -> None:
    texts = {each.text for each in stated(COLON)}
    assert "The diagnosis is adenocarcinoma of the sigmoid colon." in texts
    assert "There is no lymphovascular invasion." in texts
    assert "CDX2 is positive." in texts
    assert "The tumour is moderately differentiated." in texts


def test_every_statement_says_where_it_comes_from() -> None:
    for each in stated(COLON):
        assert COLON[each.span.start : each.span.end] == each.span.text
        assert each.passage.start <= each.span.start < each.span.end <= each.passage.end


def test_what_is_described_is_held_against_the_diagnosis() -> None:
    pairs = [(pair.first.text, pair.second.text) for pair in held(COLON)]
    diagnosis = "The diagnosis is adenocarcinoma of the sigmoid colon."
    assert ("Malignant glands infiltrate the muscularis propria.", diagnosis) in pairs


def test_two_statements_on_one_finding_are_opposed_when_one_denies_it() -> None:
    text = "There is lymphovascular invasion. Lymphovascular invasion is not identified."
    (pair,) = held(text)
    assert pair.opposed


def test_two_statements_on_one_finding_that_agree_are_not_opposed() -> None:
    text = "There is lymphovascular invasion. Foci of lymphovascular invasion are present."
    assert not any(pair.opposed for pair in held(text))


def test_bland_morphology_is_opposed_to_a_malignant_diagnosis() -> None:
    text = "There is no nuclear atypia. The diagnosis is squamous cell carcinoma of the skin."
    assert any(pair.opposed for pair in held(text))


def test_malignant_morphology_is_not_opposed_to_a_malignant_diagnosis() -> None:
    text = "There is nuclear pleomorphism. The diagnosis is squamous cell carcinoma of the skin."
    assert not any(pair.opposed for pair in held(text))


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
