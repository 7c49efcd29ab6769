"""Features of diagnoses and findings."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("Wilms tumour.", "Nephroblastoma.", "bare_same"),
        ("Wilms tumour.", "A malignant tumour.", "diagnosis_kind"),
        ("Squamous cell carcinoma.", "Adenocarcinoma.", "diagnosis_other"),
        ("No evidence of adenocarcinoma.", "Adenocarcinoma is present.", "diagnosis_flip"),
        ("No necrosis.", "Necrosis is present.", "finding_opposite"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
