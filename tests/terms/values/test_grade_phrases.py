"""Grades of whole texts, each with its place."""

from __future__ import annotations

import pytest

from histoeval.terms.values.grade_phrases import find_grades


@pytest.mark.parametrize(
    ("text", "grades"),
    [
        (
            "A moderately differentiated carcinoma; elsewhere it is grade 3.",
            [("moderately differentiated", 2), ("grade 3", 3)],
        ),
        ("Grade group is 4 in the left base.", [("Grade group is 4", 4)]),
        (
            "Tubules 3, nuclei 3 and mitoses 2 were scored.",
            [("Tubules 3, nuclei 3 and mitoses 2", 3)],
        ),
        ("The margins are free.", []),
    ],
)
def test_grades_are_found_where_they_stand(text: str, grades: list[tuple[str, float]]) -> None:
    assert [(text[g.start : g.end], g.grade.level) for g in find_grades(text)] == grades
