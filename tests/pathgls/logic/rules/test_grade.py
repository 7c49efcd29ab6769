"""Two grades of one lesion, in one scheme and in any."""

from __future__ import annotations

import pytest

from tests.support.logic_reports import errors_of, reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        *errors_of("grade"),
        *reports("m38", "m39", "m40"),
    ],
)
def test_two_grades_of_one_scheme_are_a_contradiction(text: str) -> None:
    assert "grade" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Colon: adenocarcinoma, well differentiated. The high-grade carcinoma invades the fat.",
        "Prostate, biopsy: adenocarcinoma, Gleason 3+3=6. It is of grade group 4.",
        "Breast: ductal carcinoma, grade 1. The Nottingham score is 9/9.",
        "Barrett mucosa with low-grade dysplasia. The high-grade dysplasia is extensive.",
        "Endometrium: endometrioid carcinoma, FIGO grade 1. Solid growth makes up 70 % of it.",
        "Brain: glioblastoma. The tumour is of WHO grade 2.",
        *reports("s11", "s12", "s13", "s14", "s15", "s16", "s17", "s18", "s19", "s20"),
        *reports("s73"),
    ],
)
def test_two_grades_of_one_lesion_are_a_contradiction_in_any_scheme(text: str) -> None:
    assert "grade" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Invasive ductal carcinoma, Nottingham grade 2. The nuclei are of nuclear grade 3.",
        "Acinar adenocarcinoma, Gleason score 3+4=7. It is a moderately differentiated tumour.",
        "The tumour is moderately differentiated. There are poorly differentiated areas.",
        "Poorly differentiated adenocarcinoma. The grade is 3.",
        "Breast: ductal carcinoma, grade 1. High-grade DCIS lies beside it.",
        "Colon: adenoma with low-grade dysplasia. No high-grade dysplasia is seen.",
        "Pancreas: neuroendocrine tumour, well differentiated. It is of grade 2.",
        "Colon: adenocarcinoma, moderately differentiated. It is a low-grade carcinoma.",
        "Cervix: CIN 3. CIN 1 is seen at the edge.",
        "Two lesions: a poorly differentiated carcinoma. The other is well differentiated.",
        *reports(
            "m07",
            "m08",
            "m09",
            "s01",
            "s02",
            "s03",
            "s04",
            "s05",
            "s06",
            "s07",
            "s08",
            "s09",
            "s10",
        ),
    ],
)
def test_grades_of_two_lesions_of_a_part_or_of_two_schemes_go_together(text: str) -> None:
    assert "grade" not in rules_broken(text)
