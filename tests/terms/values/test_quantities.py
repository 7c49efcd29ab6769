"""Sizes, weights and shares as ranges, held against each other."""

from __future__ import annotations

from math import inf

import pytest

from histoeval.terms.number_words import in_digits
from histoeval.terms.values.quantities import quantities
from histoeval.terms.values.quantity_relations import Fits, compared

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
    ("Nodules of 3, 5 and 9 mm.", "The largest nodule is 0.9 cm.", Fits.SAME),
    ("Nodules of 3, 5 and 9 mm.", "The largest nodule is 15 mm.", Fits.OTHER),
    ("Parts of 12 g, 5 g and 3 g.", "Together they weigh 20 g.", Fits.SAME),
    ("Stones of up to 8 mm.", "One of the stones is 3 mm.", Fits.OPEN),
    ("Stones of up to 8 mm.", "One of the stones is 30 mm.", Fits.OTHER),
    ("The lateral margin is 4 mm.", "The deep margin is 1 mm.", Fits.OPEN),
    ("The closest margin, lateral, is 4 mm.", "The deep margin is 1 mm.", Fits.OTHER),
    ("The closest margin, lateral, is 4 mm.", "The deep margin is 9 mm.", Fits.OPEN),
    ("Whole tumour size is 30 mm.", "The invasive part measures 44 mm.", Fits.OTHER),
    ("Whole tumour size is 30 mm.", "The invasive part measures 11 mm.", Fits.OPEN),
    ("The mass was 50 mm on ultrasound.", "Macroscopically the mass is 41 mm.", Fits.OPEN),
    ("Polyps of 4 mm and 6 mm.", "No polyp exceeds 1 cm.", Fits.SAME),
    ("Necrosis involves 95% of the tumour.", "A tenth of the tumour is viable.", Fits.SAME),
    ("Tumour takes up 4 mm of a 16 mm core.", "A quarter of the core is tumour.", Fits.SAME),
    ("Depth of invasion 700 micrometres.", "The depth of invasion is 0.7 mm.", Fits.SAME),
    ("Ki-67 is at least 20%.", "Ki-67 is 35%.", Fits.OPEN),
    ("Ki-67 is at least 20%.", "Ki-67 is 5%.", Fits.OTHER),
    ("The mass is just over 3 cm.", "The mass is 3.4 cm.", Fits.SAME),
    ("The mass is just over 3 cm.", "The mass is 4 cm.", Fits.OTHER),
    ("The mass is just under 3 cm.", "The mass is 2.5 cm.", Fits.SAME),
    ("The mass is just under 3 cm.", "The mass is 2 cm.", Fits.OTHER),
    ("The mass is no more than 3 cm.", "The mass is 4 cm.", Fits.OTHER),
    ("The mass is not larger than 3 cm.", "The mass is 2.8 cm.", Fits.OPEN),
    ("The mass is about 3 cm.", "The mass is 3.4 cm.", Fits.SAME),
    ("The mass is about 3 cm.", "The mass is 3.7 cm.", Fits.OTHER),
    ("The mass is 3 cm or more.", "The mass is 2 cm.", Fits.OTHER),
    ("Nodules of 3, 5 and 9 mm.", "The smallest nodule is 3 mm.", Fits.SAME),
    ("Nodules of 3, 5 and 9 mm.", "The smallest nodule is 5 mm.", Fits.OTHER),
    ("Polyps of 4 mm and 6 mm.", "All polyps are smaller than 5 mm.", Fits.OTHER),
    ("Polyps of 4 mm and 6 mm.", "All polyps are smaller than 1 cm.", Fits.SAME),
    ("The nodules range from 4 to 12 mm.", "The largest nodule is 12 mm.", Fits.SAME),
    ("The nodules range from 4 to 12 mm.", "One nodule is 3 mm.", Fits.OTHER),
    ("All margins are at least 5 mm.", "The deep margin is 2 mm.", Fits.OTHER),
    ("All margins are at least 5 mm.", "The deep margin is 8 mm.", Fits.OPEN),
    ("The invasive part measures 11 mm.", "Whole tumour size is 30 mm.", Fits.OPEN),
    ("The invasive part measures 11 mm.", "Whole tumour size is 5 mm.", Fits.OTHER),
    ("The invasive focus is 3 mm.", "The in situ component is 30 mm.", Fits.OPEN),
    ("The mean length is 4 mm.", "The longest is 9 mm.", Fits.OPEN),
    ("The largest of the stones is 8 mm.", "In total the stones measure 20 mm.", Fits.OPEN),
    ("Parts of 12 g, 5 g and 3 g.", "Together they weigh 30 g.", Fits.OTHER),
    ("The closest margin, lateral, is 4 mm.", "The deep margin is 4 mm.", Fits.OPEN),
    ("The largest right nodule is 9 mm.", "A left nodule is 9 mm.", Fits.OPEN),
    ("The largest right nodule is 9 mm.", "A left nodule is 12 mm.", Fits.OTHER),
    ("The smallest right nodule is 9 mm.", "A left nodule is 9 mm.", Fits.OPEN),
    ("The smallest right nodule is 9 mm.", "A left nodule is 6 mm.", Fits.OTHER),
    ("The left kidney weighs 120 g.", "The right kidney weighs 180 g.", Fits.OPEN),
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
    assert found[:4] == ("length", 3.0, 3.0, "margin")
    assert "min" in found.tags


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("twenty-four nodes", "24 nodes"),
        ("half a centimetre", "0.5 centimetre"),
        ("two thirds of the core", "~66.6% of the core"),
        ("one cell in twenty", "~5%"),
        ("the outer half of the myometrium", "the outer half of the myometrium"),
        ("the third node", "the third node"),
    ],
)
def test_numbers_in_words_become_figures(words: str, figures: str) -> None:
    assert in_digits(words) == figures


def test_a_length_of_a_length_is_a_share() -> None:
    (share,) = [each for each in quantities("Tumour 4 mm of a 16 mm core.") if each.kind == "share"]
    assert (share.low, share.high) == (25, 25)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Whole tumour including in situ 30 mm.", [(30, 30, "")]),
        ("The in situ component is 12 mm.", [(12, 12, "insitu")]),
        ("Tumour of 3 to 5 mm.", [(3, 5, "")]),
        ("Between 3 and 5 mm.", [(3, 5, None)]),
        ("Masses of 3 and 5 mm.", [(3, 3, ""), (5, 5, "")]),
        ("The mass is not more than 5 mm.", [(-inf, 5, "")]),
        ("The mass is not larger than 5 mm.", [(-inf, 5, "")]),
        ("The mass does not exceed 4 cm.", [(-inf, 40, "")]),
        ("The mass is 4 cm, 3 mitoses per 10 HPF.", [(40, 40, ""), (3, 3, None)]),
        ("3 mitoses/10 HPF 4 mm", [(3, 3, None), (4, 4, None)]),
    ],
)
def test_the_range_of_an_amount_and_what_it_is_of(
    text: str, read: list[tuple[float, float, str | None]]
) -> None:
    assert [(each.low, each.high, each.subject) for each in quantities(text)] == read
