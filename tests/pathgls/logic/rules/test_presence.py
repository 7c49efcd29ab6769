"""Findings, diagnoses and markers that are affirmed and denied."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("presence"),
        *reports("m33"),
    ],
)
def test_a_finding_affirmed_and_denied_is_a_contradiction(text: str) -> None:
    assert "presence" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("denial"),
        *reports("m31", "m32", "m34"),
        "Colon, biopsy: colonic mucosa without malignancy. Diagnosis: adenocarcinoma.",
    ],
)
def test_a_diagnosis_made_and_denied_is_a_contradiction(text: str) -> None:
    assert "denial" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("marker"),
        *reports("m41", "m42", "m43"),
        "Breast: ductal carcinoma, triple negative. ER is positive.",
    ],
)
def test_a_marker_positive_and_negative_is_a_contradiction(text: str) -> None:
    assert "marker" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "The carcinoma is positive for CD3. Background lymphocytes are negative for CD3.",
        "Adenocarcinoma of the rectum. The lymph nodes show no evidence of malignancy.",
        "Invasive carcinoma is suspected. Invasive carcinoma is not identified in these levels.",
        "Colon: tubular adenoma with low grade dysplasia. No high grade dysplasia is seen.",
        *reports("m01", "m02", "m03", "m10", "m11", "m12"),
    ],
)
def test_what_is_denied_elsewhere_in_part_or_of_other_cells_is_none(text: str) -> None:
    assert not rules_broken(text)
