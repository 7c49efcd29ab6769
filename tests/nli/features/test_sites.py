"""Features of sites and parts."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("Carcinoma of the sigmoid colon.", "A tumour of the large bowel.", "site_whole"),
        ("Carcinoma of the colon.", "Carcinoma of the sigmoid colon.", "site_finer"),
        ("Carcinoma of the colon.", "The tumour is located in the stomach.", "site_moved"),
        ("Part A: carcinoma.", "Part B: carcinoma.", "label_new"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
