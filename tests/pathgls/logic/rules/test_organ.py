"""Tissue or a tumour of an organ that was not sent."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Colon, biopsy. Glands are seen. Diagnosis: adenocarcinoma of the prostate.",
        "Colon, resection: adenocarcinoma. The gastric tumour is ulcerated.",
        "Kidney, biopsy: carcinoma. The normal part consists of hepatocytes.",
        *reports("s31", "s32", "s33", "s34", "s36", "s37", "s38", "s39", "s40"),
    ],
)
def test_an_organ_that_was_not_sent_is_a_contradiction(text: str) -> None:
    assert "site" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("home"),
        *reports("m59", "s35"),
        "Prostate, biopsy. Diagnosis: meningioma.",
    ],
)
def test_a_tumour_that_does_not_arise_there_is_a_contradiction(text: str) -> None:
    assert "home" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Metastatic renal cell carcinoma of the skin. The epidermis is intact.",
        "Brain: metastatic adenocarcinoma. The tumour arises in the lung.",
        "Liver: metastatic adenocarcinoma of the colon. The hepatocytes are normal.",
        "Rectum: adenocarcinoma. The tumour infiltrates the prostate.",
        *reports("m29", "s21", "s22", "s23", "s24", "s25", "s26", "s27", "s28", "s29", "s30"),
    ],
)
def test_metastases_and_organs_that_are_invaded_are_none(text: str) -> None:
    assert not rules_broken(text)
