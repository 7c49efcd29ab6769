"""Grades that follow from what a text says: sums of points, patterns of a Gleason score."""

import pytest

from histoeval.terms.values.implied_grades import graded
from histoeval.terms.values.tumour_grades import read_gleason
from tests.support.tables import from_table


@from_table
def test_a_sum_of_points_is_a_grade(text: str, grade: str) -> None:
    implied = graded(text)
    assert implied.number == {grade}
    assert implied.worked


@from_table
def test_sums_are_patterns_only_of_a_gleason_score(
    text: str, groups: set[str], patterns: set[str]
) -> None:
    implied = graded(text)
    assert implied.group == groups
    assert implied.gleason == patterns


@pytest.mark.parametrize(("word", "group"), [("one", "1"), ("three", "3"), ("five", "5")])
def test_a_grade_group_in_words(word: str, group: str) -> None:
    assert [each.options for each in read_gleason(f"Prostate, grade group {word}")] == [{group}]
