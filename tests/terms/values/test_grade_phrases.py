"""Grades of whole texts, each with its place."""

from histoeval.terms.values.grades import find_grades
from tests.support.tables import from_table


@from_table
def test_grades_are_found_where_they_stand(text: str, grades: list[tuple[str, float]]) -> None:
    assert [(text[g.start : g.end], g.grade.level) for g in find_grades(text)] == grades
