"""How bad it is to put one diagnosis for another: severities that decide the score."""

from __future__ import annotations

import pytest

from histoeval.concordance.evidence import ErrorKind, Severity
from tests.support.report_builder import mistakes_of


def worst(reference: str, candidate: str) -> Severity | None:
    """The severity of the worst error about diagnoses."""
    return max((each.severity for each in mistakes_of(reference, candidate)), default=None)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Skin: {diagnosis:melanoma}.", "Skin: {diagnosis:compound naevus}."),
        ("Testis: {diagnosis:seminoma}.", "Testis: {diagnosis:embryonal carcinoma}."),
        ("Lung: {diagnosis:adenocarcinoma}.", "Lung: {diagnosis:squamous cell carcinoma}."),
        (
            "Breast: {diagnosis:ductal carcinoma in situ}.",
            "Breast: {diagnosis:invasive ductal carcinoma}.",
        ),
        (
            "Node: {diagnosis:classic Hodgkin lymphoma}.",
            "Node: {diagnosis:reactive lymphoid hyperplasia}.",
        ),
        (
            "Liver: {diagnosis:metastatic adenocarcinoma}, colonic primary.",
            "Liver: {diagnosis:metastatic adenocarcinoma}, pancreatic primary.",
        ),
        (
            "Colon: {diagnosis:tubular adenoma}. No {diagnosis:-malignancy}.",
            "Colon: {diagnosis:adenocarcinoma}.",
        ),
    ],
)
def test_what_could_harm_a_patient_is_critical(reference: str, candidate: str) -> None:
    assert worst(reference, candidate) == Severity.CRITICAL


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Colon: {diagnosis:CMV colitis}.", "Colon: {diagnosis:herpes simplex colitis}."),
        ("Liver: {diagnosis:chronic hepatitis C}.", "Liver: {diagnosis:chronic hepatitis B}."),
        (
            "Uterus: {diagnosis:complete hydatidiform mole}.",
            "Uterus: {diagnosis:partial hydatidiform mole}.",
        ),
        ("Muscle: {diagnosis:dermatomyositis}.", "Muscle: {diagnosis:inclusion body myositis}."),
        (
            "Bladder: suspicious for {diagnosis:?urothelial carcinoma}.",
            "Bladder: {diagnosis:urothelial carcinoma}.",
        ),
    ],
)
def test_another_disease_or_a_doubt_that_is_lost_is_major(reference: str, candidate: str) -> None:
    assert worst(reference, candidate) == Severity.MAJOR


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Colon: {diagnosis:tubular adenoma}.",
            "Colon: {diagnosis:tubular adenoma} with low-grade {diagnosis:dysplasia}.",
        ),
        ("Cervix: {diagnosis:HSIL}.", "Cervix: {diagnosis:CIN 2-3}."),
        ("Anus: {diagnosis:AIN 3}.", "Anus: {diagnosis:severe dysplasia}."),
        (
            "Liver: {diagnosis:NASH}.",
            "Liver: {diagnosis:metabolic dysfunction-associated steatohepatitis}.",
        ),
        ("Gallbladder: {diagnosis:gallstones}.", "Gallbladder: {diagnosis:cholelithiasis}."),
        ("Colon: {diagnosis:CMV colitis}.", "Colon: {diagnosis:cytomegalovirus colitis}."),
        (
            "Parotid: {diagnosis:Warthin tumour}.",
            "Parotid: {diagnosis:papillary cystadenoma lymphomatosum}.",
        ),
        (
            "Duodenum: consistent with {diagnosis:?coeliac disease}.",
            "Duodenum: {diagnosis:celiac sprue}.",
        ),
        ("Liver: {diagnosis:metastatic melanoma}.", "Liver: deposit of {diagnosis:melanoma}."),
        ("Lung: {diagnosis:lung adenocarcinoma}.", "Lung: {diagnosis:adenocarcinoma}."),
    ],
)
def test_other_words_for_the_same_are_no_grave_error(one: str, other: str) -> None:
    for reference, candidate in ((one, other), (other, one)):
        assert (worst(reference, candidate) or Severity.MINOR) <= Severity.MINOR


def test_who_denies_a_disease_denies_each_kind_of_it() -> None:
    found = worst(
        "Graft: {diagnosis:acute T-cell mediated rejection}.", "Graft: no {diagnosis:-rejection}."
    )
    assert found is not None
    assert found >= Severity.MAJOR


def test_words_that_no_catalogue_knows_are_moderate_at_most() -> None:
    found = worst("Skin: {diagnosis:melanoma}.", "Skin: {diagnosis:zorbic plumation}.")
    assert found == Severity.MODERATE


def test_diagnoses_are_paired_with_those_that_are_meant_for_them() -> None:
    reference = "Testis: {diagnosis:seminoma} with {diagnosis:germ cell neoplasia in situ}."
    candidate = (
        "Testis: {diagnosis:embryonal carcinoma} with {diagnosis:germ cell neoplasia in situ}."
    )
    (mistake,) = mistakes_of(reference, candidate)
    assert mistake.kind == ErrorKind.WRONG_DIAGNOSIS
    assert mistake.message == "wrong diagnosis: 'embryonal carcinoma' for 'seminoma'"
