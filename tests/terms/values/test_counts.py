"""Counted things, and codes that say none or some."""

from histoeval.terms.values.coded import affirming_codes, denying_codes, ranks
from histoeval.terms.values.counts import counts
from tests.support.tables import from_table


@from_table
def test_how_many_have_it_of_how_many_and_how_many_have_it_not(
    text: str, part: object, total: object, free: object
) -> None:
    (count,) = counts(text)
    assert (count.part, count.total, count.free) == (part, total, free)


@from_table
def test_a_class_has_a_rank_and_a_part(phrase: str, rank: tuple[str, str]) -> None:
    assert list(ranks(phrase)) == [rank]


@from_table
def test_codes_that_say_none_are_told_from_those_that_say_some(
    phrase: str, none: int, some: int
) -> None:
    assert (denying_codes(phrase), affirming_codes(phrase)) == (none, some)


@from_table
def test_each_count_is_of_the_side_next_to_it(text: str, read: list[object]) -> None:
    found = [
        (each.part[0], each.total[0], *(place.removeprefix("side:") for place in each.where))
        for each in counts(text)
        if each.part and each.total
    ]
    assert found == read
