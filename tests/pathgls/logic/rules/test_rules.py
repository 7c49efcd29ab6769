"""Every rule: reports that break it, and reports that break none.

Ids are of `logic_more` and `logic_sites_grades`, beside half of the errors of `logic_reports`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from histoeval.pathgls.logic.rules.lesion import are_exclusive
from histoeval.terms.catalogue import concepts
from tests.support.logic_reports import errors_of, reports, rules_broken

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

BROKEN: Mapping[str, tuple[str, ...]] = {
    "appearance": (
        "s72 s74 s75 s76 s77 s78 s79 s80",
        "Reed-Sternberg cells are seen. Diagnosis: follicular lymphoma.",
        "No epithelial cells are present. Diagnosis: ductal carcinoma.",
        "CD20 is positive. Diagnosis: squamous cell carcinoma.",
    ),
    "diagnosis": (
        "m47 s51 s52 s53 s54 s55 s56 s57 s58 s59 s60",
        "Lung: adenocarcinoma. The squamous carcinoma infiltrates the bronchus.",
        "Stomach: carcinoma. This lymphoma involves all fragments.",
    ),
    "figures": (
        "Left breast, core: invasive lobular carcinoma. HER2 is negative (3+).",
        "Left breast, core: invasive lobular carcinoma. ER positive (0%).",
        "Left breast, core: invasive lobular carcinoma. PR negative (80%).",
        "Prostate, right base: adenocarcinoma, Gleason 3+3=7.",
    ),
    "grade": (
        "m38 m39 m40 s11 s12 s13 s14 s15 s16 s17 s18 s19 s20 s73",
        "Colon: adenocarcinoma, well differentiated. The high-grade carcinoma invades the fat.",
        "Prostate, biopsy: adenocarcinoma, Gleason 3+3=6. It is of grade group 4.",
        "Breast: ductal carcinoma, grade 1. The Nottingham score is 9/9.",
        "Barrett mucosa with low-grade dysplasia. The high-grade dysplasia is extensive.",
        "Endometrium: endometrioid carcinoma, FIGO grade 1. Solid growth makes up 70 % of it.",
        "Brain: glioblastoma. The tumour is of WHO grade 2.",
    ),
    "in_situ": (
        "m48 m49 m50",
        "Cervix: carcinoma in situ. The carcinoma invades the stroma.",
        "Skin of the arm: melanoma in situ. Breslow thickness 1.4 mm.",
        "Skin of the arm: melanoma in situ, Clark level III.",
        "Bladder, biopsy: urothelial carcinoma, pTa. The tumour invades the muscle.",
    ),
    "side": (
        "m35 m36 m37",
        "Left breast, biopsy: ductal carcinoma. The tumour in the right breast is firm.",
        "Right kidney, nephrectomy: clear cell carcinoma. This left kidney is pale.",
    ),
    "behaviour": ("m45",),
    "lineage": ("s71", "Nests with keratin pearls are seen. Diagnosis: adenocarcinoma."),
    "nodes": (
        "m53 m54 m55",
        "Lymph nodes: 0 of 9 nodes involved. Metastatic carcinoma is in two nodes.",
    ),
    "margin": (
        "m51 m52",
        "The tumour is completely excised. Tumour is present at the deep margin.",
        "Skin: squamous carcinoma. The deep margin is 3 mm. Tumour reaches the deep margin.",
    ),
    "morphology": (
        "m44 m46 m56 m57 m58",
        "Colon: normal colonic mucosa. Diagnosis: invasive adenocarcinoma.",
    ),
    "site": (
        "s31 s32 s33 s34 s36 s37 s38 s39 s40",
        "Colon, biopsy. Glands are seen. Diagnosis: adenocarcinoma of the prostate.",
        "Colon, resection: adenocarcinoma. The gastric tumour is ulcerated.",
        "Kidney, biopsy: carcinoma. The normal part consists of hepatocytes.",
    ),
    "home": ("m59 s35", "Prostate, biopsy. Diagnosis: meningioma."),
    "presence": ("m33",),
    "denial": (
        "m31 m32 m34",
        "Colon, biopsy: colonic mucosa without malignancy. Diagnosis: adenocarcinoma.",
        "Negative for malignancy. Metastatic adenocarcinoma is seen.",
    ),
    "marker": ("m41 m42 m43", "Breast: ductal carcinoma, triple negative. ER is positive."),
    "procedure": ("s37", "Colon, biopsy: adenocarcinoma. This colectomy specimen is 22 cm long."),
    "size": ("m60", "Breast: ductal carcinoma, 12 mm. The tumour measures 45 mm."),
    "stage": ("Sigmoid colon: adenocarcinoma. The tumour extends into pericolic fat. Stage pT2.",),
}

SOUND = (
    # What goes with the diagnosis, and names that are ruled out or go together.
    "s61 s62 s63 s64 s65 s66 s67 s68 s69 s70 s41 s42 s43 s44 s45 s46 s47 s48 s49 s50",
    "Colon: adenocarcinoma arising in an adenoma. The adenoma is completely removed.",
    "Lung: adenocarcinoma. Squamous cell carcinoma is excluded by p40.",
    "Kidney: renal cell carcinoma. This carcinoma is of clear cell type.",
    # Invasion that is denied, or beside a lesion in situ.
    "m18 m19 m20 m21",
    "Ductal carcinoma in situ is present. There is an invasive ductal carcinoma beside it.",
    "Bladder: papillary urothelial carcinoma, non-invasive. The tumour does not invade muscle.",
    "Bladder, biopsy: urothelial carcinoma, pTa. The muscle is not invaded.",
    "Sigmoid colon: adenocarcinoma. The tumour extends into pericolic fat. Stage pT3.",
    # Two sides, sizes, margins or groups of nodes.
    "m04 m05 m06 m22 m23 m24 m25 m26 m30",
    "Left breast: ductal carcinoma. The right breast shows fibrosis and no tumour.",
    "The proximal margin is involved by tumour. The distal margin is free of tumour.",
    "Cervix, cone: CIN 3. The endocervical margin is positive. The vaginal margin is negative.",
    "Two of nine nodes contain metastases. The remaining nodes are free of tumour.",
    # Mixed and harmless lesions, and what lies around the lesion.
    "m13 m14 m15 m16 m17 m27 m28",
    "Bladder: urothelial carcinoma with squamous differentiation. There are keratin pearls.",
    "Colon: adenocarcinoma. The adjacent mucosa is normal and evenly spaced.",
    # Metastases, and organs that are invaded.
    "m29 s21 s22 s23 s24 s25 s26 s27 s28 s29 s30",
    "Metastatic renal cell carcinoma of the skin. The epidermis is intact.",
    "Brain: metastatic adenocarcinoma. The tumour arises in the lung.",
    "Liver: metastatic adenocarcinoma of the colon. The hepatocytes are normal.",
    "Rectum: adenocarcinoma. The tumour infiltrates the prostate.",
    "Gastric body, biopsy: mild gastritis. The mucosa shows parietal and chief cells.",
    # What is denied elsewhere, in part, or of other cells.
    "m01 m02 m03 m10 m11 m12",
    "The carcinoma is positive for CD3. Background lymphocytes are negative for CD3.",
    "Adenocarcinoma of the rectum. The lymph nodes show no evidence of malignancy.",
    "Invasive carcinoma is suspected. Invasive carcinoma is not identified in these levels.",
    "Colon: tubular adenoma with low grade dysplasia. No high grade dysplasia is seen.",
    "Rectal polyp: tubular adenoma. No carcinoma in the adenoma.",
    "Antrum: chronic gastritis. H. pylori is negative on H&E. H. pylori is positive on IHC.",
    "Node: classic Hodgkin lymphoma. No composite lymphoma.",
    "No primary malignancy is seen. Metastatic carcinoma is present.",
)

KEPT: Mapping[str, tuple[str, ...]] = {
    "figures": (
        "Left breast, core: invasive lobular carcinoma. HER2 is negative (1+). ER positive (90%).",
        "Left breast, core: invasive lobular carcinoma. HER2 negative (2+, FISH not amplified).",
        "Left breast, core: invasive lobular carcinoma. PR negative (0%).",
        "Prostate, right base: adenocarcinoma, Gleason 4+3=7.",
    ),
    "grade": (
        "m07 m08 m09 s01 s02 s03 s04 s05 s06 s07 s08 s09 s10",
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
    ),
    "side": (
        "The left breast shows an invasive ductal carcinoma. The right breast shows an invasive "
        "ductal carcinoma. The left breast tumour is 2 cm. The right breast tumour is 1 cm.",
    ),
    "nodes": ("Isolated tumour cells are found in 1/3 lymph nodes. The stage is pN0 (i+).",),
}


def texts(entries: Iterable[str]) -> Iterator[ParameterSet]:
    """Texts as they stand, and those of ids."""
    for entry in entries:
        yield from [pytest.param(entry, id=entry[:40])] if "." in entry else reports(*entry.split())


def cases(table: Mapping[str, tuple[str, ...]], *, errors: bool) -> Iterator[ParameterSet]:
    for rule, row in table.items():
        for case in (*texts(row), *(errors_of(rule) if errors else ())):
            yield pytest.param(rule, *case.values, id=f"{rule}-{case.id}")


@pytest.mark.parametrize(("rule", "text"), [*cases(BROKEN, errors=True)])
def test_what_cannot_both_be_right_is_a_contradiction(rule: str, text: str) -> None:
    assert rule in rules_broken(text)


@pytest.mark.parametrize("text", [*texts(SOUND)])
def test_what_may_stand_together_breaks_no_rule(text: str) -> None:
    assert not rules_broken(text)


@pytest.mark.parametrize(("rule", "text"), [*cases(KEPT, errors=False)])
def test_what_a_rule_leaves_alone(rule: str, text: str) -> None:
    assert rule not in rules_broken(text)


@pytest.mark.parametrize(
    ("one", "other", "exclusive"),
    [
        ("adenocarcinoma", "squamous_cell_carcinoma", True),
        ("osteosarcoma", "chondrosarcoma", True),
        ("ulcerative_colitis", "collagenous_colitis", True),
        ("carcinoma", "squamous_cell_carcinoma", False),
        ("adenocarcinoma", "carcinoma_in_situ", False),
        ("adenosquamous_carcinoma", "squamous_cell_carcinoma", False),
    ],
)
def test_diagnoses_exclude_each_other_or_go_together(one: str, other: str, exclusive: bool) -> None:
    for a, b in ((one, other), (other, one)):
        assert are_exclusive(concepts()[a], concepts()[b]) is exclusive


def test_no_diagnosis_excludes_itself() -> None:
    assert not [id_ for id_, each in concepts().items() if are_exclusive(each, each)]
