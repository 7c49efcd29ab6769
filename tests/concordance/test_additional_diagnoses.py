"""Diagnoses besides the leading one, and findings that only the words tell."""

from __future__ import annotations

from histoeval.concordance.additional_diagnoses import compare_further
from histoeval.facts.lexical import stated_in
from tests.support.report_builder import alike, facts


def test_a_further_diagnosis_that_was_made_up_or_left_out_costs() -> None:
    one = facts("{diagnosis:Tubular adenoma}.")
    more = facts("{diagnosis:Tubular adenoma}. {diagnosis:Ulcerative colitis}.")
    missing, extra = compare_further(one, more, alike)
    assert missing.value == 1
    assert extra.value is not None
    assert extra.value < 1
    missing, extra = compare_further(more, one, alike)
    assert missing.value is not None
    assert missing.value < 1
    assert extra.value == 1


def test_what_stands_in_the_other_text_was_not_made_up() -> None:
    one = facts("{diagnosis:Tubular adenoma} and ulcerative colitis.")
    more = facts("{diagnosis:Tubular adenoma}. {diagnosis:Ulcerative colitis}.")
    assert [part.value for part in compare_further(one, more, alike)] == [1, 1]


def test_a_text_states_findings_grades_and_markers_without_a_reader() -> None:
    said = stated_in("Perineural invasion: absent. Differentiation: moderate, ER positive.")
    assert ("perineural_invasion", True) in said.findings
    assert said.markers == {"estrogen receptor"}
    assert len(said.grades) == 1
    assert said.has_words("invasion, perineural")
    assert not said.has_words("perineural ER")
    assert said.has_word_of("perineural ER")
