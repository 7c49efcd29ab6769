"""Diagnoses besides the leading one: omitted, hallucinated, or denied by one report only."""

from histoeval.concordance.evidence import ComparedPart, ErrorKind, Severity
from histoeval.concordance.other_diagnoses import compare_additional, compare_denials, with_denials
from histoeval.facts.lexical import lexical_facts
from tests.support.report_builder import alike, facts

MADE = "{diagnosis:Tubular adenoma}. "


def test_a_denied_diagnosis_that_is_made_after_all_costs_most() -> None:
    denied = facts(MADE + "No {diagnosis:-carcinoma}.")
    made = facts(MADE + "{diagnosis:Carcinoma} is seen.")
    silent = facts(MADE)
    turned, passed = compare_denials(denied, made), compare_denials(denied, silent)
    assert turned.value is not None
    assert passed.value is not None
    assert turned.value < passed.value < 1
    assert [each.kind for each in turned.mistakes] == [ErrorKind.CONTRADICTION]
    assert [each.kind for each in passed.mistakes] == [ErrorKind.OMISSION]
    assert compare_denials(made, denied).value == turned.value


def test_the_same_denial_in_other_words_costs_nothing() -> None:
    for words in ("No {diagnosis:-malignancy}.", "Negative for {diagnosis:-carcinoma}."):
        said = facts(MADE + words)
        assert compare_denials(facts(MADE + "No {diagnosis:-carcinoma}."), said).value == 1
    assert compare_denials(facts(MADE), facts(MADE)).value is None


def test_a_denial_that_only_the_words_tell_is_not_left_out() -> None:
    said = facts(MADE + "No evidence of Barrett's oesophagus.")
    true = facts(MADE + "No {diagnosis:-Barrett's oesophagus}.")
    assert compare_denials(true, said).value == 1


def test_a_malignancy_that_only_one_denies_is_another_behaviour() -> None:
    denied = facts(MADE + "No {diagnosis:-carcinoma}.")
    made = facts(MADE + "{diagnosis:Carcinoma} is seen.")
    found = with_denials(ComparedPart(1.0), denied, made).value
    assert found is not None
    assert found < 1
    assert with_denials(ComparedPart(1.0), denied, denied).value == 1
    assert with_denials(ComparedPart(None), denied, made).value is None


def test_a_further_diagnosis_that_was_made_up_or_left_out_costs() -> None:
    one = facts("{diagnosis:Tubular adenoma}.")
    more = facts("{diagnosis:Tubular adenoma}. {diagnosis:Ulcerative colitis}.")
    missing, extra = compare_additional(one, more, alike)
    assert missing.value == 1
    assert extra.value is not None
    assert extra.value < 1
    missing, extra = compare_additional(more, one, alike)
    assert missing.value is not None
    assert missing.value < 1
    assert extra.value == 1


def test_what_stands_in_the_other_text_was_not_made_up() -> None:
    one = facts("{diagnosis:Tubular adenoma} and ulcerative colitis.")
    more = facts("{diagnosis:Tubular adenoma}. {diagnosis:Ulcerative colitis}.")
    assert [part.value for part in compare_additional(one, more, alike)] == [1, 1]


def test_a_text_states_findings_grades_and_markers_without_a_reader() -> None:
    said = lexical_facts("Perineural invasion: absent. Differentiation: moderate, ER positive.")
    assert ("perineural_invasion", True) in said.findings
    assert said.markers == {"estrogen receptor"}
    assert len(said.grades) == 1
    assert said.has_words("invasion, perineural")
    assert not said.has_words("perineural ER")
    assert said.has_word_of("perineural ER")


def test_a_statement_that_nothing_is_found_contradicts_a_disease() -> None:
    disease = facts("{site:Liver}. {diagnosis:Steatohepatitis}. Stage F2.")
    clear = facts("{site:Liver}. No significant abnormality. Stage F2.")
    for pair in ((disease, clear), (clear, disease)):
        (wrong,) = [
            each for each in compare_denials(*pair).mistakes if each.kind != ErrorKind.OMISSION
        ]
        assert (wrong.kind, wrong.severity) == (ErrorKind.CONTRADICTION, Severity.MAJOR)
    assert not compare_denials(clear, clear).mistakes


def test_a_denial_in_the_words_of_a_diagnosis_counts_beside_another_name_of_it() -> None:
    made = facts("{diagnosis:Acute chorioamnionitis}. {diagnosis:Fetal inflammatory response}.")
    denied = facts("No {diagnosis:-chorioamnionitis}. {diagnosis:Fetal inflammatory response}.")
    assert ErrorKind.CONTRADICTION in {each.kind for each in compare_denials(made, denied).mistakes}
