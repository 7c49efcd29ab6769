"""Diagnoses: named, placed and compared."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.catalogue import Behaviour, closeness, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses, main_concept, refine
from histoeval.terms.sites import sites
from tests.support.paths import DATA

PHRASES = (DATA / "diagnosis_phrases.tsv").read_text("utf-8")
ROWS = [line.split("\t") for line in PHRASES.splitlines()]
IDS = st.sampled_from(sorted(concepts()))


def named(phrase: str, *organs: str) -> str | None:
    concept = main_concept(phrase, frozenset(organs))
    return concept.id if concept else None


def close(a: str, b: str) -> float:
    return closeness(concepts()[a], concepts()[b])


@pytest.mark.parametrize(("phrase", "id_"), [row[1:] for row in ROWS])
def test_a_phrase_names_its_diagnosis(phrase: str, id_: str) -> None:
    assert named(phrase) == id_


def test_the_phrases_are_many_and_from_many_organs() -> None:
    assert len(ROWS) >= 200
    assert len({organ for organ, *_ in ROWS}) >= 12


def test_every_name_of_a_diagnosis_names_it() -> None:
    wrong = [(n, c.id) for c in concepts().values() for n in c.names if named(n) != c.id]
    assert wrong == []


def test_the_catalogue_is_whole() -> None:
    for concept in concepts().values():
        assert concept.organs <= set(sites()), concept.id
        assert concept.precursor_of is None or concept.precursor_of in concepts(), concept.id
        malignant = diagnosis_tree().is_a(concept.id, "malignant_neoplasm")
        assert malignant or concept.behaviour is not Behaviour.MALIGNANT, concept.id


def test_behaviour_and_organs_come_down_the_lineage() -> None:
    lobular = concepts()["invasive_lobular_carcinoma"]
    assert lobular.behaviour is Behaviour.MALIGNANT
    assert lobular.organs == {"breast"}


@pytest.mark.parametrize(
    ("phrase", "organ", "id_"),
    [
        ("SCC", "skin", "cutaneous_squamous_cell_carcinoma"),
        ("AML", "kidney", "angiomyolipoma"),
        ("UC", "colon", "ulcerative_colitis"),
        ("UC", "urinary_bladder", "urothelial_carcinoma"),
        ("ACC", "adrenal_gland", "adrenal_cortical_carcinoma"),
        ("ACC", "parotid_gland", "adenoid_cystic_carcinoma"),
        ("adenocarcinoma", "colon", "colorectal_adenocarcinoma"),
        ("adenocarcinoma", "upper_lobe_of_lung", "lung_adenocarcinoma"),
        ("poorly differentiated adenocarcinoma", "prostate", "prostatic_adenocarcinoma"),
        ("squamous cell carcinoma", "larynx", "laryngeal_squamous_cell_carcinoma"),
        ("papillary carcinoma", "thyroid", "papillary_thyroid_carcinoma"),
        ("metastatic adenocarcinoma", "liver", "metastatic_adenocarcinoma"),
        ("adenocarcinoma", "lymph_node", "adenocarcinoma"),
        ("melanoma", "skin", "melanoma"),
    ],
)
def test_the_site_says_what_a_word_means_there(phrase: str, organ: str, id_: str) -> None:
    assert named(phrase, organ) == id_


def test_an_abbreviation_of_many_meanings_has_none_without_a_site() -> None:
    assert named("UC") is None
    assert named("ACC") is None


def test_the_site_in_the_phrase_goes_before_the_site_given() -> None:
    assert named("adenocarcinoma of the colon", "lung") == "colorectal_adenocarcinoma"


@pytest.mark.parametrize(
    ("phrase", "id_"),
    [
        ("invasive ductal carcinoma with ductal carcinoma in situ", "invasive_ductal_carcinoma"),
        ("ductal carcinoma in situ with lobular neoplasia", "ductal_carcinoma_in_situ"),
        ("fibroadenoma, no malignant features", "fibroadenoma"),
        ("malignant eccrine poroma", "malignant_neoplasm"),
        ("lepidic adenocarcinoma of the lung", "lepidic_adenocarcinoma"),
        ("intraductal carcinoma of the breast", "ductal_carcinoma_in_situ"),
        (
            "adenocarcinoma arising in a tubulovillous adenoma of the rectum",
            "colorectal_adenocarcinoma",
        ),
        ("no tissue received", None),
        ("", None),
    ],
)
def test_of_several_diagnoses_the_main_one_is_taken(phrase: str, id_: str | None) -> None:
    assert named(phrase) == id_


def test_matches_say_where_the_diagnosis_stands() -> None:
    phrase = "Colon: tubular adenomas, hyperplastic polyp"
    assert [phrase[m.start : m.end] for m in find_diagnoses(phrase)] == [
        "tubular adenomas",
        "hyperplastic polyp",
    ]


def test_refine_leaves_a_diagnosis_that_no_site_changes() -> None:
    glioblastoma = concepts()["glioblastoma"]
    assert refine(glioblastoma, frozenset({"brain"})) is glioblastoma
    assert refine(concepts()["carcinoma"], frozenset()) is concepts()["carcinoma"]


def test_diagnoses_are_closer_the_less_wrong_it_is_to_say_one_for_the_other() -> None:
    truth = "invasive_ductal_carcinoma"
    ladder = [
        close(truth, truth),
        close(truth, "breast_carcinoma"),
        close(truth, "carcinoma"),
        close(truth, "ductal_carcinoma_in_situ"),
        close(truth, "invasive_lobular_carcinoma"),
        close(truth, "lung_squamous_cell_carcinoma"),
        close(truth, "fibroadenoma"),
    ]
    assert ladder == sorted(set(ladder), reverse=True)
    assert close(truth, "chronic_gastritis") == 0


def test_an_umbrella_word_is_incomplete_and_a_precursor_is_half_right() -> None:
    assert 0.6 <= close("adenocarcinoma", "colorectal_adenocarcinoma") <= 0.8
    assert close("ductal_carcinoma_in_situ", "invasive_ductal_carcinoma") == pytest.approx(0.5)


def test_malignant_for_benign_is_far() -> None:
    assert close("leiomyoma", "leiomyosarcoma") < 0.15
    assert close("melanocytic_naevus", "melanoma") < 0.15


@given(IDS, IDS)
def test_closeness_is_the_same_both_ways_and_whole_only_for_the_same(a: str, b: str) -> None:
    assert 0 <= close(a, b) == close(b, a) <= 1
    assert (close(a, b) == 1) == (a == b)


@given(st.text(max_size=80))
def test_any_text_names_something_or_nothing(text: str) -> None:
    concept = main_concept(text)
    assert concept is None or concept.id in concepts()


@pytest.mark.parametrize(
    ("phrase", "organ", "named"),
    [
        ("ductal adenocarcinoma", "prostate", "ductal_adenocarcinoma_of_prostate"),
        ("ductal adenocarcinoma", "pancreas", "pancreatic_ductal_adenocarcinoma"),
        ("diffuse-type carcinoma", "stomach", "diffuse_gastric_carcinoma"),
        ("granulomatous inflammation", "prostate", "granulomatous_prostatitis"),
        ("granulomatous inflammation", "lung", "granulomatous_inflammation"),
    ],
)
def test_the_words_of_a_phrase_name_what_they_name_at_the_site(
    phrase: str, organ: str, named: str
) -> None:
    found = main_concept(phrase, frozenset({organ}))
    assert found is not None
    assert found.id == named
