"""Counted things, and codes that say none or some."""

from __future__ import annotations

from math import inf

import pytest

from histoeval.terms.values.coded import affirming_codes, denying_codes, ranks
from histoeval.terms.values.counts import counts


@pytest.mark.parametrize(
    ("text", "part", "total", "free"),
    [
        ("12 lymph nodes are negative.", None, None, (12, 12)),
        ("All 12 lymph nodes are free of tumour.", (0, 0), (12, 12), None),
        ("Fewer than 12 nodes were found.", None, (0, 11), None),
        ("At least 12 nodes were found.", None, (12, inf), None),
        ("More than 3 nodes are involved.", (4, inf), None, None),
        ("Positive nodes: 3.", (3, 3), None, None),
        ("Uninvolved nodes: 9.", None, None, (9, 9)),
        ("Five foci of carcinoma.", None, (5, 5), None),
        ("3 of 12 cores hold tumour.", (3, 3), (12, 12), None),
    ],
)
def test_how_many_have_it_of_how_many_and_how_many_have_it_not(
    text: str, part: object, total: object, free: object
) -> None:
    (count,) = counts(text)
    assert (count.part, count.total, count.free) == (part, total, free)


@pytest.mark.parametrize(
    ("phrase", "rank"),
    [
        ("Binet C", ("3", "")),
        ("Clark level IV", ("4", "")),
        ("stage F3", ("3", "")),
        ("Rai stage II", ("2", "")),
        ("score 3b", ("3", "b")),
        ("METAVIR F0", ("0", "")),
        ("level Ic", ("1", "c")),
    ],
)
def test_a_class_has_a_rank_and_a_part(phrase: str, rank: tuple[str, str]) -> None:
    assert list(ranks(phrase)) == [rank]


@pytest.mark.parametrize(
    ("phrase", "none", "some"),
    [
        ("pT2 N0 R0", 2, 0),
        ("pT2 N1 R1", 0, 2),
        ("L1 V1 Pn1", 0, 3),
        ("0 of 12", 1, 0),
        ("10 mm", 0, 0),
        ("0.5 mm", 0, 0),
        ("0 %", 0, 0),
        ("CN1", 0, 0),
    ],
)
def test_codes_that_say_none_are_told_from_those_that_say_some(
    phrase: str, none: int, some: int
) -> None:
    assert (denying_codes(phrase), affirming_codes(phrase)) == (none, some)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Left: 4 of 6 cores. Right: 1 of 6 cores.", [(4, 6, "left"), (1, 6, "right")]),
        ("Left apex 2 of 6 cores, right base 1 of 6 cores.", [(2, 6, "left"), (1, 6, "right")]),
        ("2 of 6 right cores hold tumour, 1 of 6 left cores.", [(2, 6, "right"), (1, 6, "left")]),
    ],
)
def test_each_count_is_of_the_side_next_to_it(text: str, read: list[object]) -> None:
    found = [
        (each.part[0], each.total[0], *(place.removeprefix("side:") for place in each.where))
        for each in counts(text)
        if each.part and each.total
    ]
    assert found == read
