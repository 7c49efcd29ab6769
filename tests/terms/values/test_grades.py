"""Grades of all systems are put on one scale, and parts are not taken for the whole."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.values.grades import Grade, agreement, read_grade
from tests.support.tables import from_table, rows_of


def read(phrase: str) -> Grade:
    grade = read_grade(phrase)
    assert grade is not None
    return grade


def close(a: str, b: str) -> float:
    return agreement(read(a), read(b))


@from_table
def test_a_grade_has_its_place_from_lowest_to_highest(
    phrase: str, scheme: str, part: str | None, value: float
) -> None:
    grade = read(phrase)
    assert (grade.scheme, grade.part) == (scheme, part)
    assert grade.value == pytest.approx(value)


@from_table
def test_other_phrases_give_no_grade(phrase: str) -> None:
    assert read_grade(phrase) is None


@from_table
def test_the_same_grade_in_other_words_agrees(a: str, b: str) -> None:
    assert close(a, b) >= 0.9


@from_table
def test_opposite_grades_and_other_parts_do_not_agree(a: str, b: str) -> None:
    assert close(a, b) <= 0.35


def test_three_and_four_is_not_four_and_three() -> None:
    assert close("Gleason 3+4=7", "Gleason 4+3=7") < 0.8
    assert close("Gleason 7", "Gleason 3+4") > close("Gleason 7", "Gleason 3+3")


def test_a_grade_of_the_nuclei_is_nearly_one_of_the_whole() -> None:
    assert 0.5 < close("nuclear grade 3", "high grade") < 1


PHRASES = [phrase for phrase, *_ in rows_of(test_a_grade_has_its_place_from_lowest_to_highest)]
pieces = st.lists(
    st.sampled_from(
        "grade Gleason WHO nuclear CIN 0 1 3 8 9 + / of II lV - to low mild = ()".split()
    )
)


@given(
    st.text()
    | pieces.map(" ".join)
    | st.from_regex(r"(?i)(grade|gleason|who|figo) ?[0-9ivl|]+ ?([+/-] ?[0-9ivl]+)?")
)
def test_any_text_can_be_read(text: str) -> None:
    grade = read_grade(text)
    if grade is not None:
        assert 0 <= grade.value <= 1
        assert agreement(grade, grade) == 1


@given(st.sampled_from(list(product(PHRASES, repeat=2))))
def test_agreement_is_symmetric_and_within_bounds(pair: tuple[str, str]) -> None:
    assert 0 <= close(*pair) <= 1
    assert close(*pair) == close(*reversed(pair))


def test_pancreatic_neoplasia_has_ranks() -> None:
    assert read("PanIN-3").tier == "high"


@from_table
def test_a_single_gleason_grade_is_a_pattern_and_no_sum(phrase: str, level: int) -> None:
    assert (read(phrase).part, read(phrase).level) == ("pattern", level)


@from_table
def test_how_alike_grades_of_two_kinds_are(one: str, other: str, alike: float) -> None:
    assert close(one, other) == close(other, one) == pytest.approx(alike)


@from_table
def test_a_rank_stands_among_those_of_its_scheme(
    phrase: str, level: float, of: int | None, tier: str | None, part: str | None
) -> None:
    grade = read(phrase)
    assert (grade.level, grade.of, grade.tier, grade.part) == (level, of, tier, part)
