"""Grades that follow from what a text says: sums of points, patterns of a Gleason score."""

from __future__ import annotations

import pytest

from histoeval.terms.values.implied_grades import graded
from histoeval.terms.values.tumour_grades import read_gleason


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("nottingham score 3", "1"),
        ("nottingham score 5", "1"),
        ("nottingham score 6", "2"),
        ("nottingham score 7", "2"),
        ("nottingham score 8", "3"),
        ("nottingham score 9", "3"),
        ("tubules 3, nuclei 2, mitoses 1", "2"),
        ("tubules 3, nuclei 2, mitoses 3", "3"),
        ("tubules 2, nuclei 2, mitoses 1", "1"),
    ],
)
def test_a_sum_of_points_is_a_grade(text: str, grade: str) -> None:
    implied = graded(text)
    assert implied.number == {grade}
    assert implied.worked


@pytest.mark.parametrize(
    ("patterns", "group"),
    [
        ("3+3", "1"),
        ("3+4", "2"),
        ("4+3", "3"),
        ("4+4", "4"),
        ("3+5", "4"),
        ("4+5", "5"),
        ("5+5", "5"),
    ],
)
def test_two_patterns_are_a_grade_group(patterns: str, group: str) -> None:
    implied = graded(f"gleason {patterns}")
    assert implied.group == {group}
    assert implied.gleason == {patterns}


@pytest.mark.parametrize(
    ("text", "groups", "patterns"),
    [
        ("gleason 3+3", {"1"}, {"3+3"}),
        ("scores: tubules 3, 3+3", set(), set()),
        ("grade 2, 3+4 divided", set(), set()),
        ("gleason score 7", {"2", "3"}, set()),
        ("score 7", set(), set()),
    ],
)
def test_sums_are_patterns_only_of_a_gleason_score(
    text: str, groups: set[str], patterns: set[str]
) -> None:
    implied = graded(text)
    assert implied.group == groups
    assert implied.gleason == patterns


@pytest.mark.parametrize(("word", "group"), [("one", "1"), ("three", "3"), ("five", "5")])
def test_a_grade_group_in_words(word: str, group: str) -> None:
    assert [each.options for each in read_gleason(f"Prostate, grade group {word}")] == [{group}]
