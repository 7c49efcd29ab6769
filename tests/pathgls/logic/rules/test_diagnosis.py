"""One lesion by two names that exclude each other."""

from __future__ import annotations

import pytest

from histoeval.pathgls.logic.rules.diagnosis import are_exclusive
from histoeval.terms.catalogue import concepts
from tests.support.logic_reports import reports, rules_broken


@pytest.mark.parametrize(
    "text",
    [
        "Lung: adenocarcinoma. The squamous carcinoma infiltrates the bronchus.",
        "Stomach: carcinoma. This lymphoma involves all fragments.",
        *reports("m47", "s51", "s52", "s53", "s54", "s55", "s56", "s57", "s58", "s59", "s60"),
    ],
)
def test_two_names_that_exclude_each_other_are_a_contradiction(text: str) -> None:
    assert "diagnosis" in rules_broken(text)


@pytest.mark.parametrize(
    "text",
    [
        "Colon: adenocarcinoma arising in an adenoma. The adenoma is completely removed.",
        "Lung: adenocarcinoma. Squamous cell carcinoma is excluded by p40.",
        "Kidney: renal cell carcinoma. This carcinoma is of clear cell type.",
        *reports("s41", "s42", "s43", "s44", "s45", "s46", "s47", "s48", "s49", "s50"),
    ],
)
def test_names_that_are_ruled_out_or_go_together_are_none(text: str) -> None:
    assert not rules_broken(text)


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
