"""A biopsy that is a resection elsewhere in the report."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Colon, biopsy: adenocarcinoma. This colectomy specimen is 22 cm long.",
        *reports("s37"),
    ],
)
def test_a_biopsy_that_is_a_resection_is_a_contradiction(text: str) -> None:
    assert "procedure" in rules_broken(text)
