"""One tumour on two sides."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("side"),
        *reports("m35", "m36", "m37"),
        "Left breast, biopsy: ductal carcinoma. The tumour in the right breast is firm.",
    ],
)
def test_one_tumour_on_the_left_and_on_the_right_is_a_contradiction(text: str) -> None:
    assert "side" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Left breast: ductal carcinoma. The right breast shows fibrosis and no tumour.",
        *reports("m04", "m05", "m06"),
    ],
)
def test_each_side_may_have_something_of_its_own(text: str) -> None:
    assert not rules_broken(text)


def test_a_report_on_both_sides_is_on_two_specimens() -> None:
    text = (
        "The left breast shows an invasive ductal carcinoma. The right breast shows an invasive "
        "ductal carcinoma. The left breast tumour is 2 cm. The right breast tumour is 1 cm."
    )
    assert "side" not in rules_broken(text)
