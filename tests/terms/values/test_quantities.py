"""Sizes, weights and shares as ranges, held against each other."""

from histoeval.terms.number_words import in_digits
from histoeval.terms.values.quantities import Fits, compared, quantities
from tests.support.tables import from_table


@from_table
def test_what_a_quantity_says_of_another(told: str, asked: str, fits: Fits) -> None:
    assert compared(quantities(told), quantities(asked)) == {fits}


def test_what_is_not_told_is_left_open() -> None:
    assert compared((), quantities("The mass is 4 cm.")) == {Fits.OPEN}
    assert compared(quantities("The mass is 4 cm."), ()) == set()


def test_units_and_subjects_are_told() -> None:
    (found,) = quantities("The closest margin is 0.3 cm.")
    assert found[:4] == ("length", 3.0, 3.0, "margin")
    assert "min" in found.tags


@from_table
def test_numbers_in_words_become_figures(words: str, figures: str) -> None:
    assert in_digits(words) == figures


def test_a_length_of_a_length_is_a_share() -> None:
    (share,) = [each for each in quantities("Tumour 4 mm of a 16 mm core.") if each.kind == "share"]
    assert (share.low, share.high) == (25, 25)


@from_table
def test_the_range_of_an_amount_and_what_it_is_of(
    text: str, read: list[tuple[float, float, str | None]]
) -> None:
    assert [(each.low, each.high, each.subject) for each in quantities(text)] == read
