"""Slips of one letter in words that are known."""

from hypothesis import given
from hypothesis import strategies as st

from histoeval.terms.catalogue import concepts
from histoeval.terms.spelling import respelt
from tests.support.tables import from_table


@from_table
def test_a_slip_of_a_letter_is_put_right(slip: str, meant: str) -> None:
    assert respelt(slip).casefold() == meant.casefold()


@from_table
def test_what_is_right_short_or_strange_stays(phrase: str) -> None:
    assert respelt(phrase) == phrase


@given(st.sampled_from(sorted(concepts())))
def test_the_names_of_the_catalogue_are_right(id_: str) -> None:
    for name in concepts()[id_].names:
        assert respelt(name) == name


@given(st.text(max_size=60))
def test_only_words_of_letters_are_touched_and_twice_is_as_once(phrase: str) -> None:
    once = respelt(phrase)
    assert respelt(once) == once
    assert abs(len(once) - len(phrase)) <= max(1, len(phrase) // 7)
