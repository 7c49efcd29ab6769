"""What is described against what is concluded."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Colon: normal colonic mucosa. Diagnosis: invasive adenocarcinoma.",
        *reports("m44", "m46", "m56", "m57", "m58"),
    ],
)
def test_a_harmless_description_of_a_malignancy_is_a_contradiction(text: str) -> None:
    assert "morphology" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Colon: adenocarcinoma. The adjacent mucosa is normal and evenly spaced.",
        *reports("m27", "m28"),
    ],
)
def test_what_lies_around_the_lesion_may_be_normal(text: str) -> None:
    assert not rules_broken(text)
