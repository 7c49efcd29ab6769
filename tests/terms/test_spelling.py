"""Slips of one letter in words that are known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.catalogue import concepts
from histoeval.terms.spelling import respelt


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("adenocarcinma", "adenocarcinoma"),
        ("adenocarcinooma", "adenocarcinoma"),
        ("adenocarcinoka", "adenocarcinoma"),
        ("adenocarcinmoa", "adenocarcinoma"),
        ("moderatley differentiated", "moderately differentiated"),
        ("Lymphovascular invasoin", "Lymphovascular invasion"),
    ],
)
def test_a_letter_left_out_added_changed_or_swapped_is_put_right(slip: str, meant: str) -> None:
    assert respelt(slip).casefold() == meant.casefold()


@pytest.mark.parametrize(
    "word", ["radical", "sampled", "portion", "macrovascular", "interval", "serious", "neutral"]
)
def test_a_word_of_its_own_is_no_slip_of_another(word: str) -> None:
    assert respelt(word) == word


@pytest.mark.parametrize(
    "phrase",
    ["", "🔬", "ductul", "carc", "zzzzzzzzz", "Ki-67 20%", "pT2 N0", "adencarcinma", "12345678"],
)
def test_short_strange_and_twice_wrong_words_stay(phrase: str) -> None:
    assert respelt(phrase) == phrase


@pytest.mark.parametrize(
    "phrase",
    ["Invasive Ductal Carcinoma", "tumours of the oesophagus", "hyperplasia", "HAEMANGIOMAS"],
)
def test_what_is_right_stays_as_it_is_written(phrase: str) -> None:
    assert respelt(phrase) == phrase


@given(st.sampled_from(sorted(concepts())))
def test_the_names_of_the_catalogue_are_right(id_: str) -> None:
    for name in concepts()[id_].names:
        assert respelt(name) == name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("hypoplasia", "hyperplasia"),
        ("adenoma", "adenosis"),
        ("lymphoma", "lymphangioma"),
        ("chondroma", "chordoma"),
        ("myeloma", "myoma"),
    ],
)
def test_one_disease_is_not_taken_for_another(one: str, other: str) -> None:
    assert (respelt(one), respelt(other)) == (one, other)


@given(st.text(max_size=60))
def test_only_words_of_letters_are_touched_and_twice_is_as_once(phrase: str) -> None:
    once = respelt(phrase)
    assert respelt(once) == once
    assert abs(len(once) - len(phrase)) <= max(1, len(phrase) // 7)


@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("eosinophill", "eosinophil"),
        ("pemphygus", "pemphigus"),
        ("urothelail carcinona", "urothelial carcinoma"),
        ("liposacroma", "liposarcoma"),
    ],
)
def test_a_doubled_end_a_wrong_vowel_and_letters_in_each_others_place_are_put_right(
    slip: str, meant: str
) -> None:
    assert respelt(slip) == meant


@pytest.mark.parametrize("word", ["subscapular", "dilution", "cornual", "hypoplastic", "station"])
def test_another_word_of_nearly_the_same_letters_is_left_alone(word: str) -> None:
    assert respelt(word) == word
