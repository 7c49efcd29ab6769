"""Classes, grades and scores of named schemes, read from whole texts."""

from __future__ import annotations

import pytest

from histoeval.terms.values.schemes import read_schemes, scheme_severity
from histoeval.terms.values.stated import conflicts


def worst(reference: str, candidate: str) -> int:
    found = conflicts(read_schemes(reference), read_schemes(candidate), scheme_severity)
    return max((severity for _, _, severity in found), default=0)


@pytest.mark.parametrize(
    ("text", "axis", "options"),
    [
        ("Kidney graft: T-cell mediated rejection, Banff 2A", "Banff", {"2a"}),
        ("Kidney allograft, rejection of Banff type IIa", "Banff", {"2a"}),
        ("Nodule of the thyroid, Bethesda category four", "Bethesda thyroid", {"4"}),
        ("Parotid aspirate: Milan IVB", "Milan", {"4b"}),
        ("Ectocervix with CIN 2/3", "squamous intraepithelial lesion", {"2", "3"}),
        ("Smear: HSIL", "squamous intraepithelial lesion", {"2", "3"}),
        ("Endomyocardial biopsy, ISHLT grade 2R", "ISHLT", {"2"}),
        ("Heart graft, ISHLT 1990 grade 3A", "ISHLT", {"2"}),
        ("IgA nephropathy, M1E0S1T2C1", "Oxford T", {"2"}),
        ("Lupus nephritis, ISN/RPS class III", "lupus class", {"3"}),
        ("Chronic hepatitis, METAVIR A1 F3", "fibrosis stage", {"3"}),
        ("Hepatitis with Ishak stage 5 of 6", "Ishak stage", {"5"}),
        ("Duodenum: Marsh-Oberhuber 3b", "Marsh", {"3b"}),
        ("Melanoma, Clark's level IV", "Clark level", {"4"}),
        ("Follicular lymphoma, grade 1-2", "follicular lymphoma", {"1", "2"}),
        ("Marrow fibrosis MF-2", "myelofibrosis grade", {"2"}),
        ("Lung transplant biopsy, A3B1", "lung rejection A", {"3"}),
        ("Rectum after therapy, Dworak regression grade 4", "regression grade", {"4"}),
        ("Prostate cancer, Gleason score 7", "Gleason", {"2", "3"}),
        ("Prostate cancer, four plus three", "Gleason", {"3"}),
        ("Prostate cancer, Grade Group II", "Gleason", {"2"}),
        ("Oligodendroglioma, CNS WHO grade three", "CNS grade", {"3"}),
        ("Umbilical cord with 2 vessels", "cord vessels", {"2"}),
    ],
)
def test_a_class_is_read_in_figures_numerals_and_words(
    text: str, axis: str, options: set[str]
) -> None:
    assert [each.options for each in read_schemes(text) if each.axis == axis] == [options]


def test_a_class_has_its_place_in_the_text() -> None:
    text = "Heart graft: moderate rejection, ISHLT 2R."
    assert [text[each.start : each.end] for each in read_schemes(text) if each.axis == "ISHLT"] == [
        "2R"
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Kidney graft, TCMR, Banff IB", "Kidney graft: T-cell mediated rejection, Banff 1b"),
        ("Cervix: CIN 3", "Cervix: high-grade squamous intraepithelial lesion"),
        ("Carcinoma of the breast, grade 1", "Well differentiated carcinoma of the breast"),
        ("Endometrioid carcinoma, FIGO grade 3", "High-grade endometrioid carcinoma"),
        ("Prostate: Gleason 4+3=7", "Prostate: grade group three"),
        ("Adenoma with low-grade dysplasia", "Adenoma, no high-grade dysplasia"),
        ("Clear cell carcinoma, ISUP 2", "Clear cell carcinoma of WHO/ISUP grade II"),
        ("Liver with bridging fibrosis", "Liver, fibrosis stage 3"),
    ],
)
def test_two_ways_to_write_a_class_agree(one: str, other: str) -> None:
    assert worst(one, other) == 0
    assert worst(other, one) == 0


@pytest.mark.parametrize(
    ("one", "other", "severity"),
    [
        ("Heart graft, ISHLT 1R", "Heart graft, ISHLT 3R", 4),
        ("Lupus nephritis class IV", "Lupus nephritis class II", 4),
        ("Thyroid: Bethesda II", "Thyroid: Bethesda VI", 4),
        ("Thyroid: Bethesda V", "Thyroid: Bethesda VI", 3),
        ("Cervix: CIN 1", "Cervix: CIN 3", 3),
        ("Cervix: CIN 2", "Cervix: CIN 3", 2),
        ("Prostate: Gleason 3+4=7", "Prostate: Gleason 4+3=7", 3),
        ("Barrett's mucosa without dysplasia", "Barrett's mucosa with high-grade dysplasia", 4),
        ("Complete hydatidiform mole", "Partial hydatidiform mole", 3),
        ("Cord with three vessels", "Cord with two vessels", 3),
        ("Duodenum, Marsh 3a", "Duodenum, Marsh 3c", 2),
    ],
)
def test_what_changes_the_treatment_is_more_severe(one: str, other: str, severity: int) -> None:
    assert worst(one, other) == severity


def test_a_class_that_is_denied_or_left_out_is_no_conflict() -> None:
    assert worst("Kidney graft: borderline changes", "Kidney graft: no borderline changes") == 0
    assert worst("Thyroid: Bethesda II, benign", "Thyroid: benign nodule") == 0


def test_one_of_several_classes_that_changed_is_found() -> None:
    reference = "Prostate, apex: Gleason 3+3=6. Prostate, base: Gleason 3+4=7."
    candidate = "Prostate, apex: Gleason 3+3=6. Prostate, base: Gleason 4+4=8."
    assert worst(reference, candidate) == 3
    assert worst(reference, "Base of prostate: Gleason 3+4=7. Apex: Gleason 3+3=6.") == 0
