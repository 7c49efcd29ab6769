"""Features of pairs for the NLI re-ranker."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histoeval.nli.features.extract import extract_features, feature_names

RIVALS = ("same", "other", "open")


@pytest.mark.parametrize(
    "pair",
    [
        ("A man plays the guitar on stage.", "A man is performing."),
        ("A person stands near a pile of coconuts.", "A woman takes a left turn."),
        ("Two dogs run through the snow.", "The animals are outside."),
        ("", ""),
    ],
)
def test_a_pair_that_is_not_about_pathology_has_no_features(pair: tuple[str, str]) -> None:
    assert extract_features(*pair) is None


@settings(max_examples=25, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_read(premise: str, hypothesis: str) -> None:
    seen = extract_features(f"Tumour. {premise}", hypothesis)
    assert seen is not None
    assert tuple(seen) == feature_names()
    assert all(np.isfinite(value) for value in seen.values())


def test_another_part_is_not_opposed_for_sure() -> None:
    seen = extract_features("Polyp 1: 4 mm.", "Polyp 2: 9 mm.") or {}
    assert seen["sure_apart"] == 1
    assert seen["sure_other"] == 0


@pytest.mark.parametrize(
    ("premise", "hypothesis", "name"),
    [
        # diagnoses
        ("Wilms tumour.", "Nephroblastoma.", "bare_same"),
        ("Wilms tumour.", "A malignant tumour.", "diagnosis_kind"),
        ("Squamous cell carcinoma.", "Adenocarcinoma.", "diagnosis_other"),
        ("No evidence of adenocarcinoma.", "Adenocarcinoma is present.", "diagnosis_flip"),
        ("No necrosis.", "Necrosis is present.", "finding_opposite"),
        # sites
        ("Carcinoma of the sigmoid colon.", "A tumour of the large bowel.", "site_whole"),
        ("Carcinoma of the colon.", "Carcinoma of the sigmoid colon.", "site_finer"),
        ("Carcinoma of the colon.", "The tumour is located in the stomach.", "site_moved"),
        ("Part A: carcinoma.", "Part B: carcinoma.", "label_new"),
        # laterality
        ("Carcinoma of the left breast.", "The carcinoma is in the right breast.", "side_opposite"),
        ("Carcinoma of the left breast.", "The right breast is normal.", "side_elsewhere"),
        ("Carcinoma of the breast.", "Carcinoma of the right breast.", "side_new"),
        ("Adenocarcinoma of the caecum.", "The tumour is in the left colon.", "side_opposite"),
        ("Carcinoma of the left ovary only.", "The carcinoma is in the right ovary.", "side_sole"),
        ("Ovary, left: fibroma.", "Ovary, right: fibroma.", "side_heading"),
        ("Tumour in the left and the right lobe.", "Both lobes hold tumour.", "side_both"),
        ("Tumour of the right ovary.", "The contralateral ovary holds tumour.", "side_opposite"),
        # grades
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
        # stages
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
        # values
        ("CD20 positive, CD3 negative.", "CD3 is positive.", "marker_opposite"),
        ("CD20 positive, CD3 negative.", "No CD3 expression.", "marker_same"),
        ("CD20 positive, CD3 negative.", "CD10 is positive.", "marker_new"),
        ("Tumour of 3 cm.", "The tumour is larger than 2 cm.", "size_same"),
        ("Polyp of the caecum, 4 mm.", "Polyp of the rectum, 9 mm.", "size_apart"),
        # counts
        ("Tumour in 3 of 12 cores.", "Nine of the twelve cores are free of tumour.", "count_same"),
        ("Tumour in 3 of 12 cores.", "A quarter of the cores hold tumour.", "count_same"),
        ("Tumour in 3 of 12 cores.", "Tumour is found in 7 of 12 cores.", "count_other"),
        ("Nodes: left 1/4, right 2/6.", "In all, 3 of 10 nodes are involved.", "count_same"),
        ("Left nodes 1/4 positive.", "Two of six right nodes are positive.", "count_open"),
        ("Five foci of carcinoma.", "A solitary focus of carcinoma.", "count_single"),
        # cues
        ("The epidermis is intact.", "The epidermis is ulcerated.", "contrast"),
        ("Frozen section: atypia.", "Paraffin sections: carcinoma.", "scene_frozen"),
        ("The needle biopsy has no necrosis.", "The resection shows necrosis.", "scene_sample"),
        ("Block A1: no tumour.", "Block A4: tumour.", "label_other"),
    ],
)
def test_a_feature_is_seen_and_none_that_rivals_it(
    premise: str, hypothesis: str, name: str
) -> None:
    seen = extract_features(premise, hypothesis) or {}
    assert seen[name] > 0
    stem, _, end = name.rpartition("_")
    if end in RIVALS and ("_worked_" in name or "count_" in name):
        assert not any(seen.get(f"{stem}_{rival}") for rival in RIVALS if rival != end)
