"""What edits are made of: grades on their scales, words in their case, articles."""

from __future__ import annotations

import pytest

from histoeval_research.experiments.edits.rules import shifted_grade
from histoeval_research.experiments.edits.source_report import (
    Original,
    applied,
    in_case_of,
    is_plural,
)
from tests.support.edited_reports import read


@pytest.mark.parametrize(
    ("grade", "step", "moved"),
    [
        ("moderately differentiated", 1, "poorly differentiated"),
        ("Moderately-differentiated", -1, "Well-differentiated"),
        ("well differentiated", -1, None),
        ("grade II", 1, "grade III"),
        ("Fuhrman nuclear grade III/IV", 1, "Fuhrman nuclear grade IV/IV"),
        ("grade 3", 1, None),
        ("grade 2 of 4", 2, "grade 4 of 4"),
        ("G2", -1, "G1"),
        ("low-grade", 2, "high-grade"),
        ("well to moderately differentiated", 1, "well to poorly differentiated"),
        ("Gleason 3+4", 1, None),
    ],
)
def test_grades_move_along_their_scale(grade: str, step: int, moved: str | None) -> None:
    assert shifted_grade(grade, step) == moved


def test_words_are_typed_like_those_that_they_replace() -> None:
    assert in_case_of("LEFT", "right") == "RIGHT"
    assert in_case_of("Left", "right") == "Right"
    assert in_case_of("adenocarcinoma", "diffuse large B-cell lymphoma").startswith("diffuse")
    assert is_plural("psammoma bodies")
    assert not is_plural("necrosis")


def test_an_article_is_mended() -> None:
    text = "This is a squamous cell carcinoma."
    original = Original(read(text))
    change = original.replaced(original.diagnoses[0].entity, "osteosarcoma")
    assert applied(text, [change]) == "This is an osteosarcoma."
