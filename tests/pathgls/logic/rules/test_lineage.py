"""A malignancy with a harmless conclusion, or with one of another differentiation."""

from __future__ import annotations

import pytest

from histoeval.pathgls.logic.lexicon import LOGIC
from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("behaviour"),
        *reports("m45"),
    ],
)
def test_a_malignancy_with_a_harmless_conclusion_is_a_contradiction(text: str) -> None:
    assert "behaviour" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("lineage"),
        *reports("s71"),
        "Nests with keratin pearls are seen. Diagnosis: adenocarcinoma.",
    ],
)
def test_two_lines_of_differentiation_are_a_contradiction(text: str) -> None:
    assert "lineage" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Bladder: urothelial carcinoma with squamous differentiation. There are keratin pearls.",
        *reports("m13", "m14", "m15", "m16", "m17"),
    ],
)
def test_mixed_and_harmless_lesions_are_none(text: str) -> None:
    assert not rules_broken(text)


def test_no_line_excludes_itself() -> None:
    assert all(row["name"] not in row["excludes"] for row in LOGIC.entry("line"))
