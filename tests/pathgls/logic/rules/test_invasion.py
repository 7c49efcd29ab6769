"""What is in situ does not invade."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("in_situ"),
        *reports("m48", "m49", "m50"),
        "Cervix: carcinoma in situ. The carcinoma invades the stroma.",
    ],
)
def test_a_lesion_in_situ_that_invades_is_a_contradiction(text: str) -> None:
    assert "in_situ" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Ductal carcinoma in situ is present. There is an invasive ductal carcinoma beside it.",
        "Bladder: papillary urothelial carcinoma, non-invasive. The tumour does not invade muscle.",
        *reports("m18", "m19", "m20", "m21"),
    ],
)
def test_invasion_denied_or_beside_a_lesion_in_situ_is_none(text: str) -> None:
    assert not rules_broken(text)
