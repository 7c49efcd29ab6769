"""Where a report states something, where it only advises, and where it leaves a gap."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.facts.scope import (
    TextScope,
    before,
    clause_before,
    concluding_text,
    has_wording,
    scope_of,
    stance_at,
)
from tests.support.tables import from_table

REPORT = """\
GROSS DESCRIPTION: A grey mass of the kidney.
DIAGNOSIS: Clear cell carcinoma.
COMMENT: We recommend further evaluation to rule out lymphoma."""


def test_what_the_clinician_asked_is_stated_by_nobody_if_a_diagnosis_follows() -> None:
    asked = "Clinical details: Diarrhoea. ?Coeliac disease\n"
    text = asked + "DIAGNOSIS: Normal duodenum."
    assert scope_of(text).is_gap(text.index("Coeliac"))
    assert not scope_of(text).is_gap(text.index("Normal"))
    assert not scope_of(asked).is_gap(asked.index("Coeliac"))


def test_what_stands_under_the_heading_of_the_diagnosis_concludes() -> None:
    scope = scope_of(REPORT)
    assert scope.concludes(REPORT.index("Clear cell"))
    assert not scope.concludes(REPORT.index("grey mass"))
    assert not scope.concludes(REPORT.index("lymphoma"))
    concluding = concluding_text(REPORT, scope)
    assert "Clear cell carcinoma" in concluding
    assert "kidney" not in concluding


def test_a_report_without_headings_concludes_as_a_whole() -> None:
    text = "A grey mass. Clear cell carcinoma."
    assert concluding_text(text, scope_of(text)) == text


def test_what_stands_before_a_place_ends_with_the_statement_and_with_the_clause() -> None:
    text = "No tumour. We recommend to rule out, in time and soon, lymphoma."
    place = text.index("lymphoma")
    assert before(text, place) == " We recommend to rule out, in time and soon, "
    assert clause_before(text, place) == " "
    assert has_wording("advice", before(text, place))
    assert before(text, 0) == clause_before(text, 0) == ""


@pytest.mark.parametrize("opened", ["[", "<insert ", "[insert ", "<insert [e.g. "])
def test_brackets_that_never_close_take_no_time(opened: str) -> None:
    text = opened * 20_000
    start = time.process_time()
    assert scope_of(text).gaps == ()
    assert time.process_time() - start < 5


@from_table
def test_what_is_to_be_filled_in_is_a_gap(gap: str) -> None:
    text = f"Diagnosis: {gap} of the colon."
    scope = scope_of(text)
    assert scope.is_gap(text.index(gap))
    assert scope.is_gap(text.index(gap) + len(gap) - 1)
    assert not scope.is_gap(text.index(gap) + len(gap))
    assert not scope.is_gap(0)
    assert gap not in concluding_text(text, scope)


@pytest.mark.parametrize("text", ["grade [2]", "Ki-67 < 5% and p53 > 1%", "cells [\n] there"])
def test_not_every_bracket_is_a_gap(text: str) -> None:
    assert scope_of(text).gaps == ()


def test_a_wording_begins_with_a_word() -> None:
    assert has_wording("denial", "There is NO invasion.")
    assert not has_wording("denial", "the piano of Kano is here")


@given(
    st.lists(st.integers(0, 40), min_size=0, max_size=12, unique=True),
    st.integers(-2, 45),
)
def test_a_place_is_inside_if_it_is_inside_any_stretch(edges: list[int], place: int) -> None:
    edges = sorted(edges)[: len(edges) // 2 * 2]
    spans = tuple(zip(edges[::2], edges[1::2], strict=True))
    inside = any(place in range(start, end) for start, end in spans)
    assert TextScope((), spans).is_gap(place) == inside


@from_table
def test_words_around_a_stretch_affirm_or_deny_it(text: str, stance: bool | None) -> None:
    start = text.lower().index("necrosis")
    assert stance_at(text, start, start + len("necrosis")) is stance
