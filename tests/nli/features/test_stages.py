"""Features of stages, stated and implied."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("pT3 pN0 carcinoma.", "pN2.", "stage_other"),
        ("pT3 pN0 carcinoma.", "Lymph node metastases are present.", "nodes_other"),
        ("Breast carcinoma, 12 mm.", "The tumour is pT1c.", "stage_worked_same"),
        ("Breast carcinoma, 12 mm.", "The tumour is pT2.", "stage_worked_other"),
        ("Breast carcinoma, pT2.", "The tumour measures 31 mm.", "stage_worked_open"),
        ("Breast carcinoma, pT2.", "The tumour measures 8 mm.", "stage_worked_other"),
        ("Colon cancer, 5 of 17 nodes positive.", "The nodal stage is pN2a.", "stage_worked_same"),
        ("Colon cancer, 5 of 17 nodes positive.", "The nodal stage is pN1b.", "stage_worked_other"),
        ("Kidney tumour of 5 cm.", "Renal cell carcinoma, pT1b.", "stage_worked_same"),
        ("Urothelial carcinoma, at least pT1.", "The tumour is pT2.", "stage_finer"),
        ("Bladder carcinoma, cT2.", "Bladder carcinoma, pT3.", "stage_finer"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
