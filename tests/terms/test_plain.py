"""What does not matter in a phrase, and what does."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.plain import american, plain, singular, words_of
from tests.support.tables import from_table


@from_table
def test_phrases_that_differ_in_case_number_spelling_or_hyphens_are_the_same(
    one: str, other: str
) -> None:
    assert plain(one) == plain(other)


@from_table
def test_words_of_different_meaning_stay_apart(one: str, other: str) -> None:
    assert plain(one) != plain(other)


@from_table
def test_a_singular_is_its_own_singular(word: str) -> None:
    assert singular(word) == word


@pytest.mark.parametrize("word", ["raised", "excised", "arising", "gastroesophageal", "tumor"])
def test_an_american_word_stays_as_it_is(word: str) -> None:
    assert american(word) == word


def test_a_prefix_is_one_word_with_what_follows() -> None:
    assert [(w.text, w.plain) for w in words_of("Non-small cells")] == [
        ("Non-small", "nonsmall"),
        ("cells", "cell"),
    ]


def test_a_plus_and_a_per_cent_sign_are_words() -> None:
    assert plain("ER+ (90%)") == "er + 90 %"


@given(st.text(max_size=80))
def test_words_stand_where_they_say(phrase: str) -> None:
    words = words_of(phrase)
    assert all(phrase[w.start : w.end] == w.text and w.plain for w in words)
    assert all(a.end <= b.start for a, b in pairwise(words))


@given(st.lists(st.sampled_from("tumour lymph-nodes oedema, of micro invasive foci".split())))
def test_case_and_space_do_not_matter(words: list[str]) -> None:
    phrase = " ".join(words)
    assert plain(phrase) == plain(phrase.upper()) == plain("  " + phrase.replace(" ", " \n "))
