"""Diagnoses: named, placed and compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.catalogue import Behaviour, closeness, concepts, diagnosis_tree
from histoeval.terms.naming import find_diagnoses, main_concept, refine
from histoeval.terms.sites import sites
from tests.support.paths import DATA
from tests.support.tables import from_table

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


@from_table
def test_the_site_says_what_a_word_means_there(phrase: str, organ: str, id_: str) -> None:
    assert named(phrase, organ) == id_


@from_table
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
