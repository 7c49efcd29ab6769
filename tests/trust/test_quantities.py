"""Sizes, weights and shares as ranges, held against each other."""

from __future__ import annotations

import pytest

from histoeval.trust.quantities import Fits, Quantity, compared, quantities

CASES = [
    ("The mass is 4.2 cm.", "A mass of 42 mm.", Fits.SAME),
    ("The mass is 4.2 cm.", "The mass is larger than 4 cm.", Fits.SAME),
    ("The mass is 4.2 cm.", "The mass is at most 3 cm.", Fits.OTHER),
    ("The mass is 4.2 cm.", "The mass lies between 4 and 5 cm.", Fits.SAME),
    ("The mass is larger than 4 cm.", "The mass is 5 cm.", Fits.OPEN),
    ("A mass of 4 x 3 x 2 cm.", "The greatest dimension is 4 cm.", Fits.SAME),
    ("The mass is 4 cm.", "The margin is 4 mm.", Fits.OPEN),
    ("The mass is 4 cm.", "The specimen weighs 40 g.", Fits.OPEN),
    ("Ki-67 is 12%.", "Ki-67 is below 20%.", Fits.SAME),
    ("Ki-67 is 12%.", "ER is positive in 90% of cells.", Fits.OPEN),
    ("Breslow thickness 2.3 mm.", "The melanoma is thicker than 2 mm.", Fits.SAME),
    ("3 mitoses per 10 HPF.", "The mitotic count is above 10 per 10 HPF.", Fits.OTHER),
    ("80% of the tissue is tumour.", "More than half of the tissue is tumour.", Fits.SAME),
    ("The spleen weighs 1.2 kg.", "The spleen weighs 1200 g.", Fits.SAME),
]


@pytest.mark.parametrize(("told", "asked", "fits"), CASES)
def test_what_a_quantity_says_of_another(told: str, asked: str, fits: Fits) -> None:
    assert compared(quantities(told), quantities(asked)) == {fits}


def test_where_nothing_is_measured_there_is_nothing_to_compare() -> None:
    assert quantities("No tumour is seen.") == ()
    assert compared(quantities("The mass is 4 cm."), ()) == set()


def test_what_is_not_told_is_left_open() -> None:
    assert compared((), quantities("The mass is 4 cm.")) == {Fits.OPEN}


def test_how_far_in_something_lies_is_no_size_of_it() -> None:
    assert quantities("Polyp at 20 cm: tubular adenoma.") == ()


def test_units_and_subjects_are_told() -> None:
    (found,) = quantities("The closest margin is 0.3 cm.")
    assert found == Quantity("length", 3.0, 3.0, "margin")
