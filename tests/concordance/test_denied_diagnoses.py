"""What one report denies and the other makes, or passes over."""

from __future__ import annotations

from histoeval.concordance.denied_diagnoses import compare_denials, with_denials
from histoeval.concordance.evidence import ComparedPart, ErrorKind
from tests.support.report_builder import facts

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
