"""Margins that are free and involved."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("margin"),
        *reports("m51", "m52"),
        "The tumour is completely excised. Tumour is present at the deep margin.",
    ],
)
def test_margins_free_and_involved_are_a_contradiction(text: str) -> None:
    assert "margin" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "The proximal margin is involved by tumour. The distal margin is free of tumour.",
        *reports("m22", "m23"),
    ],
)
def test_two_margins_may_differ(text: str) -> None:
    assert not rules_broken(text)
