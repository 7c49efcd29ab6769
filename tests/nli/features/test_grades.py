"""Features of grades, stated and implied."""

from __future__ import annotations

import pytest

from tests.support.nli_features import is_seen


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        ("Carcinoma, Gleason 4+4=8.", "Carcinoma, grade group 1.", "grade_worked_other"),
        ("Carcinoma, well differentiated.", "A grade 1 carcinoma.", "grade_same"),
        ("High-grade DCIS.", "The invasive component is grade 1.", "grade_component"),
        ("Tubules 3, nuclei 2, mitoses 1.", "A grade 2 carcinoma.", "grade_worked_same"),
        ("Tubules 3, nuclei 3, mitoses 3.", "A grade 1 carcinoma.", "grade_worked_other"),
        ("Prostate, Gleason 4+3=7.", "Grade group 2 cancer.", "grade_worked_other"),
        ("Prostate cancer, grade group 5.", "Gleason score 4+5=9.", "grade_worked_open"),
        ("Neuroendocrine tumour, Ki-67 9%.", "The tumour is grade 2.", "grade_worked_same"),
        ("Grade 2 carcinoma.", "Low grade in the two-tier scheme.", "grade_worked_same"),
        ("Low grade in the two-tier scheme.", "A grade 1 carcinoma.", "grade_worked_open"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    assert is_seen(premise, hypothesis, name)
