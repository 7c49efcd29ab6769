"""Two sizes of one tumour."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("size"),
        *reports("m60"),
        "Breast: ductal carcinoma, 12 mm. The tumour measures 45 mm.",
    ],
)
def test_two_sizes_of_one_tumour_are_a_contradiction(text: str) -> None:
    assert "size" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *reports("m30"),
    ],
)
def test_sizes_of_two_things_are_none(text: str) -> None:
    assert not rules_broken(text)
