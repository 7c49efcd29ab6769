"""Two stages of one tumour."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("stage"),
    ],
)
def test_two_stages_of_one_tumour_are_a_contradiction(text: str) -> None:
    assert "stage" in rules_broken(text)
