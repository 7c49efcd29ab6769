"""Features of laterality."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("Carcinoma of the left breast.", "The carcinoma is in the right breast.", "side_opposite"),
        ("Carcinoma of the left breast.", "The right breast is normal.", "side_elsewhere"),
        ("Carcinoma of the breast.", "Carcinoma of the right breast.", "side_new"),
        ("Adenocarcinoma of the caecum.", "The tumour is in the left colon.", "side_opposite"),
        ("Carcinoma of the left ovary only.", "The carcinoma is in the right ovary.", "side_sole"),
        ("Ovary, left: fibroma.", "Ovary, right: fibroma.", "side_heading"),
        ("Tumour in the left and the right lobe.", "Both lobes hold tumour.", "side_both"),
        ("Tumour of the right ovary.", "The contralateral ovary holds tumour.", "side_opposite"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
