"""The numbers beside the vector of a phrase: opposites point away from each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.align.opposites.lexicon import lexicon, meaning_of
from histoeval.align.opposites.vector import (
    beside,
    categories,
    channel,
    grade_signs,
    numbers,
    places,
    size,
)


def dot(one: str, other: str) -> float:
    return float(channel(one) @ channel(other))


OPPOSITES = [
    ("left breast", "right breast"),
    ("acute cholecystitis", "chronic cholecystitis"),
    ("CD20 positive", "CD20 negative"),
    ("low-grade dysplasia", "high-grade dysplasia"),
    ("carcinoma in situ", "invasive carcinoma"),
    ("benign tumour", "malignant tumour"),
    ("hyperthyroidism", "hypothyroidism"),
    ("leukocytosis", "leukopenia"),
    ("primary melanoma", "metastatic melanoma"),
    ("with necrosis", "without necrosis"),
    ("pT1", "pT3"),
    ("stage II", "stage IV"),
    ("R0", "R1"),
    ("Gleason 3+4", "Gleason 4+3"),
    ("VIN 1", "VIN 3"),
    ("upper third", "lower third"),
]


@pytest.mark.parametrize(("one", "other"), OPPOSITES)
def test_opposites_are_less_alike_than_each_is_to_itself_by_more_than_the_loss_of_a_word(
    one: str, other: str
) -> None:
    assert dot(one, other) < 0 < min(dot(one, one), dot(other, other))


SAME = [
    ("without invasion", "noninvasive"),
    ("not invasive", "non-invasive"),
    ("no loss of MLH1", "MLH1 retained"),
    ("pN0", "no nodal metastasis"),
    ("grade group 1", "Gleason 3+3=6"),
    ("stage IIB", "FIGO stage 2b"),
    ("estrogen receptor", "ER"),
    ("2 of 8 nodes", "two of eight nodes"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_wordings_of_one_meaning_point_the_same_way(one: str, other: str) -> None:
    assert dot(one, other) > 0.2


def test_what_is_not_said_takes_little() -> None:
    plain, sided = channel("breast carcinoma"), channel("left breast carcinoma")
    assert 0 < float(plain @ sided) == pytest.approx(float(plain @ plain))


def test_both_values_of_an_axis_in_one_phrase_say_nothing() -> None:
    assert "age" not in meaning_of("acute and chronic inflammation").signs
    assert meaning_of("acute inflammation").signs["age"] == 1


def test_two_negations_make_no_denial() -> None:
    assert dot("no loss of expression", "expression present") > 0
    assert dot("loss of expression", "expression present") < 0


def test_words_that_only_look_alike_are_left_alone() -> None:
    quiet = channel("tumor")
    for phrase in ("hypopharynx", "microsatellite", "macrophages", "adenocarcinoma NOS"):
        assert np.array_equal(channel(phrase), quiet), phrase


def test_stages_are_read_with_their_parts_and_not_out_of_other_words() -> None:
    assert [*categories("ypT2b pN1 M0")] == [("T", "2", "b"), ("N", "1", ""), ("M", "0", "")]
    assert [*categories("pTis, stage IIIC")] == [("T", "is", ""), ("group", "3", "c")]
    assert [*categories("Dukes B")] == [("group", "2", "")]
    assert [*categories("breast carcinoma, N+")] == [("N", "1", "")]
    for phrase in ("close to the primary, MIB-1, TNM", "TA", "PNI", "LLL", "grade group 2"):
        assert not [*categories(phrase)], phrase


def test_grades_and_scores_are_read() -> None:
    assert [*grade_signs("carcinoma, grade III")] == [("grade", -1)]
    assert [*grade_signs("Gleason 4+5=9")] == [("grade", -1)]
    assert [*grade_signs("Gleason score 3+4=7")] == [("seven", 1)]
    assert [*grade_signs("grade group 3")] == [*grade_signs("Gleason 4+3")] == [("seven", -1)]
    assert [*grade_signs("predominant Gleason grade 4")] == [("grade", -1)]
    assert [*grade_signs("moderately differentiated adenocarcinoma")] == [("second grade", 1)]
    assert not [*grade_signs("ER 8/8")]


def test_numbers_are_one_whatever_they_are_written_in() -> None:
    assert numbers("third portion") == numbers("portion III") == numbers("part 3") == ["3"]
    assert numbers("0.4 mm") == ["0.4"]


def test_markers_are_found_by_any_name_and_words_of_plain_english_only_in_capitals() -> None:
    start = places()["marker"]
    one, same, none, pole, three, thirty = (
        channel(phrase)[start : start + 32].tolist()
        for phrase in (
            "estrogen receptor and Ki-67",
            "ER, Ki67",
            "the tumor was met with care",
            "upper pole of the kidney",
            "CD3",
            "CD30",
        )
    )
    assert one == same
    assert not any(none)
    assert not any(pole)
    assert three != thirty


def test_every_axis_has_a_place_and_both_of_its_values_are_read() -> None:
    known = lexicon()
    read = {axis: set[int]() for axis in known.axes}
    for entries in (known.whole, known.begins, known.ends):
        for said in entries.values():
            for axis, sign in said:
                if axis in read:
                    read[axis].add(sign)
    assert all(signs == {-1, 1} for signs in read.values())
    assert set(known.axes) <= set(places())


@given(st.text(max_size=60))
def test_any_text_gives_numbers_and_with_a_vector_length_one(phrase: str) -> None:
    row = channel(phrase)
    assert row.shape == (size(),)
    assert row.dtype == np.float32
    assert np.isfinite(row).all()
    assert np.abs(row).max() <= 1
    vector = np.zeros(8, dtype=np.float32)
    vector[0] = 1
    assert np.linalg.norm(beside(vector, phrase, 0.6)) == pytest.approx(1, abs=1e-5)
