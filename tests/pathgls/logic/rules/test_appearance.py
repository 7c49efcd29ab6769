"""What is seen or missing excludes the diagnosis."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Reed-Sternberg cells are seen. Diagnosis: follicular lymphoma.",
        "No epithelial cells are present. Diagnosis: ductal carcinoma.",
        "CD20 is positive. Diagnosis: squamous cell carcinoma.",
        *reports("s72", "s74", "s75", "s76", "s77", "s78", "s79", "s80"),
    ],
)
def test_what_does_not_go_with_the_diagnosis_is_a_contradiction(text: str) -> None:
    assert "appearance" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *reports("s61", "s62", "s63", "s64", "s65", "s66", "s67", "s68", "s69", "s70"),
    ],
)
def test_what_goes_with_the_diagnosis_is_none(text: str) -> None:
    assert not rules_broken(text)
