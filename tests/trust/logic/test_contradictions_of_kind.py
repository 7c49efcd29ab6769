"""Contradictions of grade, site, diagnosis and morphology in short reports."""

from __future__ import annotations

import json
from functools import cache

import pytest

from histoeval.extract.builtin import BuiltinReader
from histoeval.report import Report
from histoeval.terms.catalogue import concepts
from histoeval.terms.sites import sites
from histoeval.terms.values.markers import known_markers
from histoeval.trust.logic.lexicon import table
from histoeval.trust.logic.read_specimens import specimens_of
from histoeval.trust.logic.rules.diagnosis import are_exclusive
from histoeval.trust.logic.rules.registry import broken_rules
from tests.support.logic_reports import read
from tests.support.paths import DATA

FILE = DATA / "logic_sites_grades.jsonl"


@cache
def rows() -> list[tuple[dict[str, str], Report]]:
    told = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
    reports = BuiltinReader(threads=1).read([row["report"] for row in told])
    return list(zip(told, reports, strict=True))


def sources(report: Report) -> set[str]:
    return {each.source.removeprefix("rule:") for each in broken_rules(specimens_of(report)[0])}


def test_none_of_our_consistent_reports_breaks_a_rule() -> None:
    true = [(row, report) for row, report in rows() if row["truth"] == "consistent"]
    assert len(true) == 40
    assert not {row["id"]: sources(report) for row, report in true if sources(report)}


def test_nearly_all_of_our_contradictions_break_one() -> None:
    wrong = [(row, report) for row, report in rows() if row["truth"] == "contradiction"]
    missed = [row["id"] for row, report in wrong if not sources(report)]
    assert len(wrong) == 40
    assert len(missed) <= 2, missed


@pytest.mark.parametrize(
    "text",
    [
        "Colon: adenocarcinoma, well differentiated. The high-grade carcinoma invades the fat.",
        "Prostate, biopsy: adenocarcinoma, Gleason 3+3=6. It is of grade group 4.",
        "Breast: ductal carcinoma, grade 1. The Nottingham score is 9/9.",
        "Barrett mucosa with low-grade dysplasia. The high-grade dysplasia is extensive.",
        "Endometrium: endometrioid carcinoma, FIGO grade 1. Solid growth makes up 70 % of it.",
        "Brain: glioblastoma. The tumour is of WHO grade 2.",
    ],
)
def test_two_grades_of_one_lesion_are_a_contradiction_in_any_scheme(text: str) -> None:
    assert "grade" in sources(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Breast: ductal carcinoma, grade 1. High-grade DCIS lies beside it.",
        "Colon: adenoma with low-grade dysplasia. No high-grade dysplasia is seen.",
        "Pancreas: neuroendocrine tumour, well differentiated. It is of grade 2.",
        "Colon: adenocarcinoma, moderately differentiated. It is a low-grade carcinoma.",
        "Cervix: CIN 3. CIN 1 is seen at the edge.",
        "Two lesions: a poorly differentiated carcinoma. The other is well differentiated.",
    ],
)
def test_grades_of_two_lesions_or_of_two_names_are_none(text: str) -> None:
    assert "grade" not in sources(read(text))


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("site", "Colon, resection: adenocarcinoma. The gastric tumour is ulcerated."),
        ("site", "Kidney, biopsy: carcinoma. The normal part consists of hepatocytes."),
        ("home", "Prostate, biopsy. Diagnosis: meningioma."),
        ("procedure", "Colon, biopsy: adenocarcinoma. This colectomy specimen is 22 cm long."),
        ("diagnosis", "Lung: adenocarcinoma. The squamous carcinoma infiltrates the bronchus."),
        ("diagnosis", "Stomach: carcinoma. This lymphoma involves all fragments."),
        ("lineage", "Nests with keratin pearls are seen. Diagnosis: adenocarcinoma."),
        ("appearance", "Reed-Sternberg cells are seen. Diagnosis: follicular lymphoma."),
        ("appearance", "No epithelial cells are present. Diagnosis: ductal carcinoma."),
        ("appearance", "CD20 is positive. Diagnosis: squamous cell carcinoma."),
    ],
)
def test_what_cannot_be_of_one_lesion_is_a_contradiction(rule: str, text: str) -> None:
    assert rule in sources(read(text))


@pytest.mark.parametrize(
    "text",
    [
        "Liver: metastatic adenocarcinoma of the colon. The hepatocytes are normal.",
        "Rectum: adenocarcinoma. The tumour infiltrates the prostate.",
        "Colon: adenocarcinoma arising in an adenoma. The adenoma is completely removed.",
        "Lung: adenocarcinoma. Squamous cell carcinoma is excluded by p40.",
        "Kidney: renal cell carcinoma. This carcinoma is of clear cell type.",
        "Bladder: urothelial carcinoma with squamous differentiation. There are keratin pearls.",
    ],
)
def test_what_spreads_or_is_mixed_or_ruled_out_is_none(text: str) -> None:
    assert not sources(read(text))


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


def test_no_diagnosis_excludes_itself_or_a_kind_of_it() -> None:
    assert not [id_ for id_, each in concepts().items() if are_exclusive(each, each)]


def test_every_id_of_the_tables_is_in_the_catalogues() -> None:
    kinds, seen, grading = table("kinds"), table("appearances"), table("stated_grades")
    named = [*kinds["family"], *kinds["one_of"], *grading["implied"]]
    diagnoses = {id_ for row in named for id_ in row["diagnoses"]}
    diagnoses |= {*kinds["siblings"]["under"], *kinds["siblings"]["loose"]}
    for row in (*seen["seen"], *seen["denied"], *seen["stain"]):
        diagnoses |= {*row.get("only", ()), *row.get("excludes", ())}
    stains = {
        m for row in seen["stain"] for m in (*row.get("positive", ()), *row.get("negative", ()))
    }
    organs = {id_ for row in table("habitats")["tissue"] for id_ in row["organs"]}
    organs |= {id_ for group in table("habitats")["organs"]["together"] for id_ in group}
    assert diagnoses <= set(concepts())
    assert stains <= set(known_markers())
    assert organs <= set(sites())
    names = {row["name"] for row in kinds["family"]}
    assert all(set(row["alike"]) <= names for row in kinds["family"])
